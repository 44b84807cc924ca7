// Rust programs of which it is known how their threads share cache lines: CASE THREADS.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, RwLock};
use std::{cell::RefCell, env, thread, time::Duration};

const ROUND: u64 = 20_000; // turns between two looks at whether the time is over
static IS_OVER: AtomicBool = AtomicBool::new(false);

// Runs `work(thread, turn)` in so many threads for half a second.
fn run<F: Fn(usize, u64) + Send + Sync + 'static>(threads: usize, work: F) {
    let work = Arc::new(work);
    let start = |i| {
        let work = work.clone();
        thread::spawn(move || {
            while !IS_OVER.load(Relaxed) {
                for turn in 0..ROUND { work(i, turn); }
            }
        })
    };
    let all: Vec<_> = (0..threads).map(start).collect();
    thread::sleep(Duration::from_millis(500));
    IS_OVER.store(true, Relaxed);
    for one in all { one.join().unwrap(); }
}

#[derive(Default)]
struct Stats {
    hits: AtomicU64,
    misses: AtomicU64,
}

#[repr(align(128))]
#[derive(Default)]
struct Padded(AtomicU64);

// Beside a flag that all read, a count that one thread writes.
#[derive(Default)]
struct Job {
    stop: AtomicU64,
    done: AtomicU64,
}

thread_local! { static OWN: RefCell<Vec<u64>> = RefCell::new(vec![0; 1024]); }

fn main() {
    let words: Vec<String> = env::args().collect();
    let threads: usize = words[2].parse().unwrap();
    match words[1].as_str() {
        "rust_counters" => {
            let list: Arc<Vec<AtomicU64>> = Arc::new((0..threads).map(|_| AtomicU64::new(0)).collect());
            run(threads, move |i, _| { list[i].fetch_add(1, Relaxed); });
        }
        "rust_stats" => {
            let list: Arc<Vec<Stats>> = Arc::new((0..threads).map(|_| Stats::default()).collect());
            run(threads, move |i, turn| {
                if turn % 4 == 0 { list[i].misses.fetch_add(1, Relaxed); } else { list[i].hits.fetch_add(1, Relaxed); }
            });
        }
        "rust_flag" => {
            let job = Arc::new(Job::default());
            run(threads, move |i, _| {
                if i == 0 { job.done.fetch_add(1, Relaxed); } else { black_box(job.stop.load(Relaxed)); }
            });
        }
        "rust_total" => {
            let total = Arc::new(AtomicU64::new(0));
            run(threads, move |_, _| { total.fetch_add(1, Relaxed); });
        }
        "rust_mutex" => {
            let total = Arc::new(Mutex::new(0u64));
            run(threads, move |_, turn| { *total.lock().unwrap() += turn; });
        }
        "rust_rwlock" => {
            // Readers write the lock's count.
            let table = Arc::new(RwLock::new(vec![1u64; 64]));
            run(threads, move |_, turn| { black_box(table.read().unwrap()[turn as usize % 64]); });
        }
        "rust_arc" => {
            // Clones of an Arc write its count.
            let shared = Arc::new(5u64);
            run(threads, move |_, _| { black_box(shared.clone()); });
        }
        "rust_padded" => {
            let list: Arc<Vec<Padded>> = Arc::new((0..threads).map(|_| Padded::default()).collect());
            run(threads, move |i, _| { list[i].0.fetch_add(1, Relaxed); });
        }
        "rust_table" => {
            let table: Arc<Vec<u64>> = Arc::new((0..512).collect());
            run(threads, move |i, turn| { black_box(table[(turn as usize * 7 + i) % 512]); });
        }
        "rust_own" => run(threads, |_, turn| OWN.with(|own| own.borrow_mut()[turn as usize % 1024] += turn)),
        _ => panic!("no such case"),
    }
}
