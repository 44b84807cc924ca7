// Go programs of which it is known how their goroutines share cache lines: CASE GOROUTINES.
package main

import (
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const round = 20000 // turns between two looks at whether the time is over

type stats struct{ hits, misses uint64 }

type padded struct {
	count uint64
	_     [120]byte
}

type job struct {
	stop uint64
	done uint64
}

var isOver uint32

// Runs work(goroutine, turn) in so many goroutines for half a second.
func run(count int, work func(i, n int)) {
	var done sync.WaitGroup
	for i := 0; i < count; i++ {
		done.Add(1)
		go func(i int) {
			for atomic.LoadUint32(&isOver) == 0 {
				for n := 0; n < round; n++ {
					work(i, n)
				}
			}
			done.Done()
		}(i)
	}
	time.Sleep(500 * time.Millisecond)
	atomic.StoreUint32(&isOver, 1)
	done.Wait()
}

func main() {
	count, _ := strconv.Atoi(os.Args[2])
	switch os.Args[1] {
	case "go_counters":
		list := make([]uint64, count)
		run(count, func(i, n int) { list[i]++ })
	case "go_atomics":
		list := make([]uint64, count)
		run(count, func(i, n int) { atomic.AddUint64(&list[i], 1) })
	case "go_stats":
		list := make([]stats, count)
		run(count, func(i, n int) {
			if n&3 == 0 {
				atomic.AddUint64(&list[i].misses, 1)
			} else {
				atomic.AddUint64(&list[i].hits, 1)
			}
		})
	case "go_flag": // beside a word that all others read, a count that one writes
		one := new(job)
		run(count, func(i, n int) {
			if i == 0 {
				atomic.AddUint64(&one.done, 1)
			} else if atomic.LoadUint64(&one.stop) != 0 {
				panic("stopped")
			}
		})
	case "go_total":
		total := new(uint64)
		run(count, func(i, n int) { atomic.AddUint64(total, 1) })
	case "go_mutex":
		var lock sync.Mutex
		total := new(uint64)
		run(count, func(i, n int) {
			lock.Lock()
			*total += uint64(n)
			lock.Unlock()
		})
	case "go_padded":
		list := make([]padded, count)
		run(count, func(i, n int) { atomic.AddUint64(&list[i].count, 1) })
	case "go_table":
		table := make([]uint64, 512)
		for i := range table {
			table[i] = uint64(i)
		}
		run(count, func(i, n int) {
			if table[(n*7+i)%512] == 999 {
				panic("no such number")
			}
		})
	case "go_own":
		all := make([][]uint64, count)
		for i := range all {
			all[i] = make([]uint64, 1024)
		}
		run(count, func(i, n int) { all[i][n&1023] += uint64(n) })
	default:
		panic("no such case")
	}
}
