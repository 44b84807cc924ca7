// demo.cc: marks as long as a scope.
//
//     c++ -O2 -I../../core -o demo demo.cc
//     pmclua stat --marks --entries -e page-faults,task-clock -- ./demo
#include <pmclua_mark.h>
#include <numeric>
#include <vector>

static std::vector<int> fill(std::size_t count)
{
    pmclua::mark here("fill");
    std::vector<int> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
}

int main()
{
    long sum = 0;
    for (std::size_t count = 1000; count <= 1000000; count *= 10) {
        std::vector<int> numbers = fill(count);
        pmclua::mark here("sum");
        sum += std::accumulate(numbers.begin(), numbers.end(), 0L);
    }
    return sum == 0;
}
