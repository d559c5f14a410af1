package exec

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/levadaflow/levada/coder/plan"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/source"
)

// Worker is a stage's head that has work of its own, besides what its input brings.
type Worker interface {
	// Take takes work that is ready, and reports whether there was some.
	Take(task int) bool
	// Work does a part of what was taken; it may emit, and calls s between elements.
	Work(e *Elem, s Safe)
	// Wait is told, at the end of a bundle, that the task has nothing to do: it is to be woken when there is, and when the watermark moves.
	Wait(task int)
	// Flushed is told, at a bundle's end, that all that was emitted has been sent.
	Flushed(e *Elem)
	// Idle reports whether there is open work, and nothing comes from it.
	Idle() bool
}

// Failures of code that processes restrictions.
var (
	ErrUnclaimed = errors.New("the call returned although a part of its restriction was not claimed")
	ErrUseAfter  = errors.New("a claim is used after the call that it was handed to")
	ErrSpinning  = errors.New("the source wants to be called again at once, again and again, and claims and emits nothing: let it resume after a time")
)

// Limits of a call.
const (
	sliceTime   = 100    // milliseconds after which the rest of a restriction makes room for others that wait
	sliceClaims = 10_000 // claims after which it does
	maxEmpty    = 1000   // calls in a row that claim and emit nothing and want to be called again at once
	maxName     = 120    // bytes of a restriction's name
)

// Again is what a process call says about what is left.
type Again struct {
	Resume bool          // call again for the rest; else all has been claimed
	After  time.Duration // this long after the call began
}

// Splittable is a step that processes its elements in restrictions R, whose positions P are claimed.
type Splittable[I, R, P any] struct {
	Source   source.Restrictions[I, R, P]
	Values   *plan.Plan[I]
	MaxDrift int64 // milliseconds that a restriction may be ahead of the slowest; negative: any
	// Bind returns the process function for its task. An estimator and outputs are added to s there.
	Bind func(b *Binder, st *Inst, outs []any, s *Splitting) func(e *Elem, v I, c *Claim[R, P]) (Again, error)
}

// Op returns the step: its input is spread over the tasks, and all tasks share what there is to do.
func (g Splittable[I, R, P]) Op() *HeadOp {
	op := ReshuffleOp(g.Values)
	return &HeadOp{
		Writer:   op.Writer,
		Reader:   func(b *Binder, st *Inst, outs []any) Reader { return newSplittable(&g, b, st, outs) },
		Restrict: &RestrictOp{MaxDrift: g.MaxDrift, Truncate: g.truncate},
	}
}

// RestrictOp is what the engine needs to know of a splittable step.
type RestrictOp struct {
	MaxDrift int64
	// Truncate returns what is left of a restriction when the run is drained; ok is false for nothing.
	Truncate func(Split) (s Split, ok bool)
}

// piece is a restriction with all that is known of it where nobody processes it.
type piece[I, R any] struct {
	v     I
	at    event.Time
	win   event.Window
	pane  event.Pane
	r     R
	state event.Time // of the estimator; without one the element's time
	idle  bool
	quiet event.Time // processing time since which nothing has come out of it
	empty int        // calls in a row that have claimed and emitted nothing
	cut   bool       // it has been truncated, for a drain
}

func (g *Splittable[I, R, P]) truncate(s Split) (Split, bool) {
	p := s.Value.(*piece[I, R])
	if p.cut {
		return s, true
	}
	r, ok := g.Source.TruncateOf(p.v, p.r)
	p.r, p.cut = r, true
	return s, ok
}

// Splitting is what a splittable step has in one task besides its functions.
type Splitting struct {
	// Estimator says how far a restriction is complete; nil: it holds the watermark at its element's time until it is done.
	Estimator source.Estimator
	// IdleAfter is after how many milliseconds without an output a restriction no longer holds the watermark; 0: never.
	IdleAfter int64
	said      bool // the code has said that nothing will come for long
	emitted   bool // since the call began
	out       func() bool
}

// Emitted is to be called after each output, and reports whether to go on. t is the output's time.
func (s *Splitting) Emitted(e *Elem, t event.Time) bool {
	s.emitted = true
	if s.Estimator != nil {
		s.Estimator.Observe(t, e.Now)
	}
	return s.out()
}

// Idle is how the code says that nothing will come for long. It counts if nothing is emitted in the call.
func (s *Splitting) Idle() { s.said = true }

func (s *Splitting) idle() bool { return s.said && !s.emitted }

// splittable is such a step in one task.
type splittable[I, R, P any] struct {
	*Splitting
	g       *Splittable[I, R, P]
	st      *Inst
	coord   Coordinator
	process func(e *Elem, v I, c *Claim[R, P]) (Again, error)
	sum     func(I) uint64
	claim   *Claim[R, P]
	work    *piece[I, R] // at hand, nil if there is none
	id      int          // its number
	safe    Safe
	run     *Run
	at      cursor[I]
	one     [1]event.Window
	left    []func() // what the coordinator is told at the bundle's end
	_       Apart
}

func newSplittable[I, R, P any](g *Splittable[I, R, P], b *Binder, st *Inst, outs []any) *splittable[I, R, P] {
	t := &splittable[I, R, P]{g: g, st: st, run: b.Elem.Run, coord: b.Splits(st.Step), sum: SumOf(g.Values.Hash), Splitting: &Splitting{}}
	t.out = func() bool { return t.claim == nil || t.claim.point() }
	t.process = g.Bind(b, st, outs, t.Splitting)
	st.Hold = func() (string, event.Time, bool) {
		at, ok := t.coord.Low(b.Elem.Task)
		return "estimator", at, ok
	}
	st.Busy = func() bool { return t.coord.Open() }
	b.bound.Worker = t
	return t
}

// Batch implements [Reader]: it finds out what there is to do for the elements.
func (t *splittable[I, R, P]) Batch(e *Elem, p Payload, from, to int) {
	t.at.each(e, t.st, t.sum, p, from, to, t.element)
}

// element adds the restrictions of an element, for each of its windows.
func (t *splittable[I, R, P]) element(e *Elem, v I) {
	src := &t.g.Source
	all, err := t.restrictions(e.Run.Ctx, v)
	if err != nil {
		e.Fail(t.st, v, err)
		return
	}
	var splits []Split
	for _, w := range e.Win {
		for _, r := range all {
			p := &piece[I, R]{v: t.g.Values.Clone(v), at: e.Time, win: w, pane: e.Pane, r: r, state: e.Time, quiet: e.Now}
			splits = append(splits, Split{Name: nameOf(v, r), Mark: p.state, Size: int64(src.SizeOf(v, r)), Value: p})
		}
	}
	t.coord.Add(splits)
}

func (t *splittable[I, R, P]) restrictions(ctx context.Context, v I) ([]R, error) {
	r, err := t.g.Source.Initial(ctx, v)
	if err != nil || t.g.Source.Split == nil {
		return []R{r}, err
	}
	return t.g.Source.Split(ctx, v, r)
}

// nameOf is how people see a restriction.
func nameOf(v, r any) string {
	s := fmt.Sprintf("%+v %+v", v, r)
	if len(s) > maxName {
		s = s[:maxName] + "..."
	}
	return s
}

// Take implements [Worker].
func (t *splittable[I, R, P]) Take(task int) bool {
	id, split, ok := t.coord.Next(task)
	if ok {
		t.id, t.work = id, split.Value.(*piece[I, R])
	}
	return ok
}

// Wait implements [Worker].
func (t *splittable[I, R, P]) Wait(task int) { t.coord.Wait(task) }

// Work implements [Worker]: a call of the process function.
func (t *splittable[I, R, P]) Work(e *Elem, s Safe) {
	p := t.work
	t.safe, t.one[0] = s, p.win
	e.Time, e.Win, e.Pane = p.at, t.one[:], p.pane
	e.Enter(t.st)
	if t.Estimator != nil {
		t.Estimator.Begin(p.state)
	}
	t.emitted, t.said = false, false
	t.claim = &Claim[R, P]{t: t, e: e, tracker: t.g.Source.Track(p.v, p.r), began: e.Now}
	nested := e.Nested
	again, err := t.process(e, p.v, t.claim)
	t.claim.over = true
	if e.Nested != nested {
		e.Fail(t.st, p.v, ErrSwallowed)
	}
	t.finish(e, again, err)
	t.claim, t.work = nil, nil
}

// finish does what the process function has said, and finds out whether it was right.
func (t *splittable[I, R, P]) finish(e *Elem, again Again, err error) {
	c := t.claim
	if ended := e.Run.Input.Err(); ended != nil && errors.Is(err, ended) { // it was told to return
		if err = nil; e.Run.Draining() && !c.gave && !c.dropped {
			c.cut()
		}
	}
	switch {
	case e.Err != nil:
	case err != nil:
		t.fail(e, err)
	case e.Run.Stopped():
		e.Err = ErrStopped
	case c.gave:
		t.put(e, c.rest, Again{})
	case c.dropped:
		t.done()
	case again.Resume:
		if rest, ok := c.tracker.TrySplit(0); ok {
			t.resume(e, rest, again)
			break
		}
		fallthrough
	default:
		if err := c.tracker.Check(); err != nil {
			t.fail(e, fmt.Errorf("%w: %w", ErrUnclaimed, err))
			return
		}
		t.done()
	}
}

// resume parks the rest of a restriction, unless it does so in a circle.
func (t *splittable[I, R, P]) resume(e *Elem, rest R, again Again) {
	t.work.empty++
	if t.claim.claimed || t.emitted || again.After > 0 {
		t.work.empty = 0
	}
	if t.work.empty >= maxEmpty {
		t.failAt(e, rest, ErrSpinning)
		return
	}
	t.put(e, rest, again)
}

// fail fails the run with the restriction's name.
func (t *splittable[I, R, P]) fail(e *Elem, err error) {
	t.failAt(e, t.claim.tracker.Restriction(), err)
}

func (t *splittable[I, R, P]) failAt(e *Elem, r R, err error) {
	e.Time = t.work.at
	e.Fail(t.st, t.work.v, fmt.Errorf("restriction %v: %w", r, err))
}

// done tells the coordinator, at the bundle's end, that a restriction is done.
func (t *splittable[I, R, P]) done() {
	id := t.id
	t.left = append(t.left, func() { t.coord.Done(id) })
}

// put hands a restriction's rest back, at the bundle's end: to be gone on with when its time has come.
func (t *splittable[I, R, P]) put(e *Elem, rest R, again Again) {
	id, p, began := t.id, t.work, t.claim.began
	t.leave(e)
	p.r = rest
	t.left = append(t.left, func() {
		s := Split{Name: nameOf(p.v, p.r), Mark: p.state, Value: p}
		t.coord.Report(id, p.state, p.idle)
		if again.Resume {
			t.coord.Park(id, s, began.Add(again.After))
		} else {
			t.coord.Requeue(id, s)
		}
	})
}

// leave notes the estimator's state in the piece at hand.
func (t *splittable[I, R, P]) leave(e *Elem) {
	p := t.work
	if t.emitted {
		p.quiet, p.idle = e.Now, false
	}
	if t.Estimator == nil {
		return
	}
	p.state = t.Estimator.Current(e.Now)
	switch {
	case t.idle():
		p.idle = true
	case t.IdleAfter > 0 && e.Now.MillisSince(p.quiet) >= t.IdleAfter:
		p.idle = true
	}
}

// Flushed implements [Worker].
func (t *splittable[I, R, P]) Flushed(e *Elem) {
	for _, f := range t.left {
		f()
	}
	clear(t.left)
	t.left = t.left[:0]
	if t.claim != nil && t.Estimator != nil {
		t.coord.Report(t.id, t.Estimator.Current(e.Now), t.idle())
	}
}

// Idle implements [Worker].
func (t *splittable[I, R, P]) Idle() bool {
	_, idle := t.coord.Mark()
	return idle
}

// Advance implements [Reader]: nothing is due.
func (t *splittable[I, R, P]) Advance(*Elem, event.Time) {}

// Alarm implements [Reader]: when a parked restriction is to be gone on with.
func (t *splittable[I, R, P]) Alarm() (event.Time, bool) { return t.coord.Alarm() }

// Clock implements [Reader]: Work finds it.
func (t *splittable[I, R, P]) Clock(*Elem) {}

// Direct implements [Reader]: it never runs in the goroutine of another stage.
func (t *splittable[I, R, P]) Direct() any { return nil }

// Current implements [Reader].
func (t *splittable[I, R, P]) Current() any {
	if t.claim != nil {
		return nameOf(t.work.v, t.claim.tracker.Restriction())
	}
	return t.at.current()
}
