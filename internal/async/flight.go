package async

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/levadaflow/levada/event"
)

// flight is an element whose call is in flight, or whose result waits to be emitted.
type flight[I, O any] struct {
	v    I
	at   event.Time
	win  []event.Window
	pane event.Pane

	// What came of it.
	out      O
	attempts int
	err      error
	stack    string // of a panic
	over     bool   // the task knows that the call has ended
}

// String is how an error shows it: as the element.
func (f *flight[I, O]) String() string { return fmt.Sprintf("%+v", f.v) }

// errGoexit is the failure of a call that ended its goroutine.
var errGoexit = errors.New("the function ended its goroutine (runtime.Goexit)")

// call makes the call and then says so, whatever the user's code does.
func (f *flight[I, O]) call(ctx context.Context, s *Step[I, O], ended func()) {
	returned := false
	defer func() {
		if !returned {
			f.crashed(recover())
		}
		ended()
	}()
	f.attempts, f.err = s.Policy.run(ctx, s.random.next, func(ctx context.Context) (err error) {
		f.attempts++
		f.out, err = s.Call(ctx, f.v)
		return err
	})
	returned = true
}

// crashed takes a panic, or if nothing was recovered the end of the goroutine, as what came of the call.
func (f *flight[I, O]) crashed(recovered any) {
	switch err := recovered.(type) {
	case nil:
		f.err = errGoexit
	case error:
		f.err = fmt.Errorf("panic: %w", err)
	default:
		f.err = fmt.Errorf("panic: %v", err)
	}
	f.stack = string(debug.Stack())
}

// landed is the list of calls that have ended and that the task has not looked at.
type landed[T any] struct {
	mu    sync.Mutex
	all   []T
	ready chan struct{} // has a token when there may be some
}

// put adds one.
func (l *landed[T]) put(x T) {
	l.mu.Lock()
	l.all = append(l.all, x)
	l.mu.Unlock()
	select {
	case l.ready <- struct{}{}:
	default:
	}
}

// take swaps the list with an empty slice that the caller no longer needs.
func (l *landed[T]) take(empty []T) []T {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.all
	l.all = empty[:0]
	return all
}
