package levada_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/levadaflow/levada"
)

// Three calls at once take as long as one. The results come in the order of the elements.
func ExampleMapConcurrent() {
	p := levada.New()
	hosts := levada.Create(p, "hosts", "alpha", "beta", "gamma")
	c := levada.Concurrent{Max: 64, Ordered: true, Timeout: time.Second}
	addresses := levada.MapConcurrent(hosts, "look-up", c, func(ctx context.Context, host string) (string, error) {
		select {
		case <-time.After(50 * time.Millisecond): // the service takes its time
			return host + ".example", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	printEach(addresses)
	mustRun(p)
	// Output:
	// alpha.example
	// beta.example
	// gamma.example
}

// errBusy is what a service says that can be asked again.
var errBusy = errors.New("busy")

// A busy service is asked again; what it refuses goes to a collection of its own.
func ExampleMapConcurrent_retry() {
	var mu sync.Mutex
	asked := map[string]int{}
	price := func(_ context.Context, item string) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		switch asked[item]++; {
		case strings.HasPrefix(item, "?"):
			return "", errors.New("no such item")
		case asked[item] < 3:
			return "", errBusy
		}
		return fmt.Sprintf("%s costs %d", item, len(item)), nil
	}
	p := levada.New()
	items := levada.Create(p, "items", "apple", "?", "fig")
	var failed levada.FailedOf[string]
	c := levada.Concurrent{Max: 8, Retry: levada.Retry{
		Attempts: 5, Initial: time.Millisecond, If: func(err error) bool { return errors.Is(err, errBusy) },
	}}
	prices := levada.MapConcurrent(items, "price", c, price, levada.FailedTo(&failed))
	unknown := levada.Map(failed, "unknown", func(f levada.Failed[string]) string { return f.Value + ": " + f.Err })
	printEach(levada.Flatten("all", prices, unknown))
	result := mustRun(p)
	fmt.Println(result.Counter("price", "retries"), "retries")
	// Unordered output:
	// apple costs 5
	// fig costs 3
	// ?: no such item
	// 4 retries
}
