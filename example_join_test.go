package levada_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/levadatest"
	"github.com/levadaflow/levada/window"
)

// second is a text with a key and a time in seconds, for the examples of joins.
func second(t int64, key, text string) levada.Timed[levada.KV[string, string]] {
	return levada.Timed[levada.KV[string, string]]{Value: levada.KV[string, string]{Key: key, Value: text}, Time: event.Time(t * 1000)}
}

// ordersAndPayments are of the first two minutes, in windows of one.
func ordersAndPayments(p *levada.Pipeline) (orders, payments levada.PCollection[levada.KV[string, string]]) {
	minutes := levada.Windowing{Windows: window.Fixed(time.Minute)}
	orders = levada.CreateTimed(p, "orders", second(10, "anna", "tea"), second(20, "anna", "milk"), second(30, "bert", "rice"), second(70, "carl", "salt"))
	payments = levada.CreateTimed(p, "payments", second(40, "anna", "card"), second(65, "bert", "cash"))
	return levada.WindowInto(orders, "orders-minutes", minutes), levada.WindowInto(payments, "payments-minutes", minutes)
}

func ExampleCoGroup2() {
	p := levada.New()
	orders, payments := ordersAndPayments(p)
	groups := levada.CoGroup2("by-customer", orders, payments)
	printEach(levada.Map(groups, "format", func(kv levada.KV[string, levada.Grouped2[string, string]]) string {
		return fmt.Sprint(kv.Key, slices.Sorted(kv.Value.A.All()), slices.Sorted(kv.Value.B.All()))
	}))
	mustRun(p)
	// Unordered output:
	// anna[milk tea] [card]
	// bert[rice] []
	// bert[] [cash]
	// carl[salt] []
}

func ExampleJoin() {
	p := levada.New()
	orders, payments := ordersAndPayments(p)
	printEach(levada.Join("paid", orders, payments, func(customer, order, payment string) string {
		return customer + " pays for " + order + " by " + payment
	}))
	mustRun(p)
	// Unordered output:
	// anna pays for tea by card
	// anna pays for milk by card
}

func ExampleLeftJoin() {
	p := levada.New()
	orders, payments := ordersAndPayments(p)
	printEach(levada.LeftJoin("paid", orders, payments, func(customer, order string, payment levada.Opt[string]) string {
		if !payment.Ok {
			return customer + " does not pay for " + order
		}
		return customer + " pays for " + order + " by " + payment.Value
	}))
	mustRun(p)
	// Unordered output:
	// anna pays for tea by card
	// anna pays for milk by card
	// bert does not pay for rice
	// carl does not pay for salt
}

func ExampleOuterJoin() {
	p := levada.New()
	orders, payments := ordersAndPayments(p)
	printEach(levada.OuterJoin("paid", orders, payments, func(customer string, order, payment levada.Opt[string]) string {
		return fmt.Sprintf("%s %v %v", customer, order, payment)
	}))
	mustRun(p)
	// Unordered output:
	// anna tea card
	// anna milk card
	// bert rice none
	// bert none cash
	// carl salt none
}

func ExampleOpt() {
	none, zero := levada.Opt[int]{}, levada.Some(0)
	fmt.Println(none, none.Ok, none.Or(7))
	fmt.Println(zero, zero.Ok, zero.Or(7))
	// Output:
	// none false 7
	// 0 true 0
}

// A click belongs to an advertisement that was shown at most 30 seconds before it. There are no windows, so no edge of one is between the two.
func ExampleIntervalJoin() {
	p := levada.New()
	shown := levada.CreateTimed(p, "shown", second(10, "anna", "tea"), second(55, "anna", "milk"), second(55, "bert", "rice"))
	clicks := levada.CreateTimed(p, "clicks", second(40, "anna", "click 1"), second(65, "anna", "click 2"), second(90, "bert", "click 3"))
	within := levada.Interval{After: 30 * time.Second} // after it was shown
	printTimed(levada.IntervalJoin("seen", shown, clicks, within, func(user, ad, click string) string {
		return user + " " + ad + " " + click
	}))
	mustRun(p)
	// Unordered output:
	// anna tea click 1 at 1970-01-01T00:00:40.000Z
	// anna milk click 2 at 1970-01-01T00:01:05.000Z
}

// Orders in a foreign currency get the rate of their own time, whatever comes first.
func ExampleTableJoin() {
	p := levada.New()
	orders := levada.CreateTimed(p, "orders", second(30, "EUR", "tea"), second(10, "EUR", "milk"), second(20, "USD", "rice"))
	rates := levada.CreateTimed(p, "rates", second(25, "EUR", "1.10"), second(5, "EUR", "1.08"), second(60, "USD", "1"))
	printTimed(levada.TableJoin("rate", orders, rates, func(currency, order string, rate levada.Opt[string]) string {
		return order + " at " + rate.Or("no rate")
	}))
	mustRun(p)
	// Unordered output:
	// milk at 1.08 at 1970-01-01T00:00:10.000Z
	// rice at no rate at 1970-01-01T00:00:20.000Z
	// tea at 1.10 at 1970-01-01T00:00:30.000Z
}

// A device has an owner until it is given back.
func ExampleChangelogJoin() {
	p := levada.New()
	events := levada.CreateTimed(p, "events", second(10, "phone-7", "call"), second(20, "phone-7", "alarm"))
	owners := levada.Map(levada.CreateTimed(p, "owners", second(0, "phone-7", "anna"), second(15, "phone-7", "")), "changes",
		func(kv levada.KV[string, string]) levada.KV[string, levada.Opt[string]] {
			return levada.KV[string, levada.Opt[string]]{Key: kv.Key, Value: levada.Opt[string]{Value: kv.Value, Ok: kv.Value != ""}}
		})
	printEach(levada.ChangelogJoin("owner", events, owners, func(device, what string, owner levada.Opt[string]) string {
		return fmt.Sprint(what, " of ", device, ", owner ", owner)
	}))
	mustRun(p)
	// Output:
	// call of phone-7, owner anna
	// alarm of phone-7, owner none
}

// A payment that comes too late for a join is counted and can be read.
func ExampleLateTo2() {
	d := levadatest.NewDriver()
	minutes := levada.Windowing{Windows: window.Fixed(time.Minute)}
	orders := levadatest.AddScript[levada.KV[string, string]](d, "orders")
	payments := levadatest.AddScript[levada.KV[string, string]](d, "payments")
	var lateOrders, latePayments levada.LateOf[string, string]
	levada.CoGroup2("by-customer", levada.WindowInto(orders.Out, "orders-minutes", minutes),
		levada.WindowInto(payments.Out, "payments-minutes", minutes), levada.LateTo2(&lateOrders, &latePayments))
	missed := levadatest.Gather(latePayments, "missed")

	must(orders.Add(10_000, levada.KV[string, string]{Key: "anna", Value: "tea"}))
	must(orders.Watermark(60_000))
	must(payments.Watermark(60_000))
	must(payments.Add(20_000, levada.KV[string, string]{Key: "anna", Value: "card"}))
	for _, e := range missed.Take() {
		fmt.Println(e.Value, "came too late for", e.Window)
	}
	fmt.Println(d.Result().Counter("by-customer/group", "dropped_late"), "dropped")
	d.Stop()
	// Output:
	// anna: card came too late for [1970-01-01T00:00:00.000Z, 1970-01-01T00:01:00.000Z)
	// 1 dropped
}
