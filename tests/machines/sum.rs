// Sorts and sums numbers.
fn main() {
    let mut list: Vec<u64> = (0..5000).map(|i| (i * 7919) % 10007).collect();
    list.sort();
    println!("{}", list.iter().enumerate().map(|(i, x)| i as u64 * x).sum::<u64>());
}
