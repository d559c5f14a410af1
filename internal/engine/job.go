package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/exec"
	"github.com/levadaflow/levada/internal/graph"
	"github.com/levadaflow/levada/internal/progress"
)

// Options say how a graph is run.
type Options struct {
	Parallelism int                   // tasks a stage; 0: GOMAXPROCS
	Clock       Clock                 // nil: the machine's
	MaxBundle   int                   // elements; 0: no limit of its own
	Grace       time.Duration         // how long an ending run waits for user code to return; 0: 5 s
	General     bool                  // switches the fast paths off, for tests
	Unfused     bool                  // runs each step in tasks of its own, for tests
	Logger      *slog.Logger          // for late data and steps that stand still; nil: slog.Default()
	StallAfter  time.Duration         // how long a step stands still before that is logged; 0: a minute, negative: never
	Share       func() int            // for tests: see [exec.Run]
	Holds       map[string]event.Time // keeps the output of steps back for ever; for tests of the stuck report
}

// Job is a graph that runs.
type Job struct {
	graph      *graph.Graph
	options    Options
	clock      Clock
	virtual    bool
	external   bool // elements come from outside: standing still is no error
	stages     []*graph.Stage
	tasks      []*task
	metrics    *exec.Metrics
	splits     map[*graph.Step]*coordinator
	views      map[*graph.Step]*view
	total      int64 // bytes of all splits
	sinks      []sink
	run        *exec.Run
	parent     context.Context
	cancel     context.CancelFunc
	endInput   context.CancelFunc
	inflight   atomic.Int64
	unfinished atomic.Int64 // tasks whose watermarks are not all at Max
	quiet      chan struct{}
	done       chan struct{} // closed when the run is ending
	over       chan struct{} // closed when it has ended
	watch      chan struct{} // closed when Watch's goroutine has ended; nil without one
	lateLog    lateLog

	mu       sync.Mutex
	ending   bool
	err      error
	waiters  []chan struct{} // told when the job is quiet
	deferred []*task         // have watermarks to take; under a virtual clock
}

// errNegative is for wrong options.
var errNegative = errors.New("the parallelism and the maximum of a bundle must not be negative")

// Start prepares and starts the job. An error is one of the preparation: listing of sources, opening of sinks.
func Start(ctx context.Context, g *graph.Graph, o Options) (*Job, error) {
	if o.Parallelism < 0 || o.MaxBundle < 0 {
		return nil, errNegative
	}
	if o.Parallelism == 0 {
		o.Parallelism = runtime.GOMAXPROCS(0)
	}
	if o.Clock == nil {
		o.Clock = System{}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.StallAfter == 0 {
		o.StallAfter = time.Minute
	}
	if o.Grace <= 0 {
		o.Grace = 5 * time.Second
	}
	j := &Job{
		graph: g, options: o, clock: o.Clock, stages: g.Fuse(), metrics: exec.NewMetrics(), parent: ctx,
		splits: map[*graph.Step]*coordinator{}, views: map[*graph.Step]*view{}, quiet: make(chan struct{}, 1), done: make(chan struct{}), over: make(chan struct{}),
	}
	if o.Unfused {
		j.stages = g.Cut()
	}
	_, j.virtual = o.Clock.(*Virtual)
	inner, cancel := context.WithCancel(ctx)
	j.cancel = cancel
	j.run = &exec.Run{Ctx: inner, Late: j.late, Share: o.Share}
	j.run.Input, j.endInput = context.WithCancel(inner)
	if err := j.prepare(inner); err != nil {
		cancel()
		return nil, err
	}
	j.build()
	j.unfinished.Store(int64(len(j.tasks)))
	for _, t := range j.tasks {
		if t.parent == nil {
			j.put(t, message{kind: msgStart})
		}
	}
	if len(j.tasks) == 0 {
		j.quiet <- struct{}{} // nothing will ever be settled
	}
	for _, t := range j.tasks {
		if t.parent == nil {
			go t.run()
		}
	}
	go j.supervise()
	if !j.virtual && o.StallAfter > 0 {
		go j.watchStalls()
	}
	return j, nil
}

// prepare lists the sources and opens the sinks.
func (j *Job) prepare(ctx context.Context) error {
	for _, s := range j.graph.Steps {
		if head, ok := s.Op.(*exec.HeadOp); ok && head.Restrict != nil {
			j.splits[s] = newCoordinator(j, nil, nil)
			j.splits[s].restrict = head.Restrict
		}
		op, ok := s.Op.(*exec.RootOp)
		if !ok {
			continue
		}
		j.external = j.external || op.External
		if op.List == nil {
			continue
		}
		var splits []exec.Split
		err := guarded(s.Name, func() (err error) { splits, err = op.List(ctx); return err })
		if err != nil {
			return err
		}
		j.splits[s] = newCoordinator(j, op, splits)
		for _, sp := range splits {
			j.total += sp.Size
		}
	}
	for _, s := range j.graph.Steps {
		op, ok := s.Op.(*exec.ChainOp)
		if !ok || op.Commit == nil {
			continue
		}
		if err := guarded(s.Name, func() error { return op.Commit.Begin(ctx, j.options.Parallelism) }); err != nil {
			j.abort(j.sinks)
			return err
		}
		j.sinks = append(j.sinks, sink{s.Name, op.Commit})
	}
	return nil
}

// build makes the tasks and binds them to each other.
func (j *Job) build() {
	p := j.options.Parallelism
	byStage := map[*graph.Stage][]*task{}
	senders := map[graph.Edge]int{} // the number of an edge's first sender at each receiver
	count := map[*graph.Stage]int{}
	for _, st := range j.stages {
		for _, edge := range st.Edges() {
			if sideOf(edge) > 0 {
				continue // a frontier of its own, whose first sender is 0
			}
			senders[edge] = count[edge.To.Stage]
			count[edge.To.Stage] += p
		}
	}
	for _, st := range j.stages {
		for i := range p {
			t := &task{job: j, stage: st, index: i, inbox: newInbox(), ended: make(chan struct{})}
			if count[st] > 0 {
				t.frontier = progress.NewFrontier(count[st])
			}
			if op, ok := st.Head.Op.(*exec.HeadOp); ok && op.Side != nil {
				for range st.Head.Inputs[1:] {
					t.sides = append(t.sides, progress.NewFrontier(p))
				}
			}
			byStage[st] = append(byStage[st], t)
			j.tasks = append(j.tasks, t)
		}
		if c := j.splits[st.Head]; c != nil {
			c.tasks = byStage[st]
		}
	}
	j.adopt(byStage, count)
	for _, st := range slices.Backward(j.stages) { // those that are adopted before those that adopt them
		for _, t := range byStage[st] {
			j.bind(t, byStage, func(edge graph.Edge) []*link {
				links := make([]*link, p)
				for i, to := range byStage[edge.To.Stage] {
					links[i] = newLink(to, senders[edge]+t.index, sideOf(edge))
				}
				return links
			})
		}
	}
	j.adoptive(byStage)
	for _, tasks := range byStage {
		for i := range tasks[0].bound.Insts {
			var peers []*exec.Inst
			for _, t := range tasks {
				peers = append(peers, t.bound.Insts[i])
			}
			for _, st := range peers {
				st.Peers = peers
			}
		}
	}
}

// sideOf returns the number of the side input that an edge is for, plus one; 0 if it is for a main input.
func sideOf(edge graph.Edge) int {
	if op, ok := edge.To.Op.(*exec.HeadOp); ok && op.Side != nil {
		return edge.Input
	}
	return 0
}

// adopt lets a task run those behind it in its own goroutine, where nothing is won by another: at parallelism 1, for stages with
// one input.
func (j *Job) adopt(byStage map[*graph.Stage][]*task, senders map[*graph.Stage]int) {
	inOne := j.options.Parallelism == 1 && !j.options.Unfused
	for _, st := range j.stages {
		e := &exec.Elem{Run: j.run, Pane: event.NoPane}
		for _, t := range byStage[st] {
			if t.elem == nil {
				e.Task = t.index
				t.elem = e
				e = &exec.Elem{Run: j.run, Pane: event.NoPane}
			}
			for _, edge := range st.Edges() {
				if to := byStage[edge.To.Stage][0]; inOne && senders[edge.To.Stage] == 1 && !alone(to.stage.Head) {
					to.parent, to.elem = t, t.elem
				}
			}
		}
	}
}

// alone reports whether a step that begins a stage needs a goroutine of its own.
func alone(s *graph.Step) bool {
	op, ok := s.Op.(*exec.HeadOp)
	return ok && (op.Restrict != nil || op.Side != nil)
}

// adoptive tells each task whom it runs, in the order of the stages.
func (j *Job) adoptive(byStage map[*graph.Stage][]*task) {
	for _, st := range j.stages {
		for _, t := range byStage[st] {
			if t.parent == nil {
				continue
			}
			for _, st := range t.parent.bound.Insts {
				if st.Step == t.stage.Head.Inputs[0].Step {
					t.parent.children = append(t.parent.children, child{t, st})
				}
			}
		}
	}
}

func (j *Job) bind(t *task, byStage map[*graph.Stage][]*task, links func(graph.Edge) []*link) {
	b := &exec.Binder{
		Elem:    t.elem,
		Tasks:   j.options.Parallelism,
		Metrics: j.metrics,
		General: j.options.General,
		View:    func(st *graph.Step) exec.View { return j.view(st) },
		Splits:  func(st *graph.Step) exec.Coordinator { return j.splits[st] },
		Keeper:  t.keeper,
		Direct: func(edge graph.Edge) exec.Reader {
			if to := byStage[edge.To.Stage][t.index]; to.parent == t {
				return to.bound.Reader
			}
			return nil
		},
	}
	from := map[*port]*graph.Step{}
	t.bound = exec.Bind(t.stage, b, func(edge graph.Edge) exec.Output {
		out := &port{from: t, links: links(edge), mark: event.Min, most: event.Min}
		from[out] = edge.From.Step
		t.ports = append(t.ports, out)
		return out
	})
	for _, st := range t.bound.Insts {
		for out, s := range from {
			if s == st.Step {
				out.st = st
			}
		}
		if at, ok := j.options.Holds[st.Step.Name]; ok {
			st.Hold = func() (string, event.Time, bool) { return "test", at, true }
		}
	}
}

// put hands m to a task.
func (j *Job) put(t *task, m message) {
	j.inflight.Add(1)
	if !t.inbox.put(m) {
		j.settle(1)
	}
}

// settle says that n messages and all that they caused are done with.
func (j *Job) settle(n int64) {
	if n > 0 && j.inflight.Add(-n) == 0 {
		select {
		case j.quiet <- struct{}{}:
		default:
		}
	}
}

// fail ends the run with err, unless it is ending already. A cancelled run ends with the context's error, whatever user code
// made of it.
func (j *Job) fail(err error) {
	if j.parent.Err() != nil {
		err = fmt.Errorf("the run was cancelled: %w", context.Cause(j.parent))
		if !errors.Is(err, j.parent.Err()) {
			err = fmt.Errorf("%w: %w", j.parent.Err(), err)
		}
	}
	j.end(err)
}

// end ends the run; nil means that all is done.
func (j *Job) end(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ending {
		if j.err == nil {
			j.err = err // a task failed while it closed
		}
		return
	}
	j.ending, j.err = true, err
	if err != nil {
		j.run.Stop()
		j.cancel()
	}
	close(j.done)
}

// supervise waits for the job's end and tidies up.
func (j *Job) supervise() {
	defer j.wake()
	defer close(j.over)
	for running := true; running; {
		select {
		case <-j.parent.Done():
			j.fail(j.parent.Err())
		case <-j.quiet:
			j.onQuiet()
		case <-j.done:
			running = false
		}
	}
	hanging := j.awaitTasks()
	j.cancel()
	j.mu.Lock()
	err := j.err
	j.mu.Unlock()
	switch {
	case hanging != nil:
		err = errors.Join(hanging, err)
		j.abort(j.sinks)
	case err != nil:
		j.abort(j.sinks)
	default:
		err = j.commit()
	}
	j.mu.Lock()
	j.err = err
	j.mu.Unlock()
}

// onQuiet decides what it means that nothing runs.
func (j *Job) onQuiet() {
	switch {
	case j.inflight.Load() != 0 || j.advance() || j.virtual && j.resume():
	case j.unfinished.Load() == 0:
		j.end(nil)
	case j.external || j.virtual:
		j.wake()
	case j.parked():
	default:
		j.fail(j.Stuck())
	}
}

// wake tells everybody who waits for quiescence.
func (j *Job) wake() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, w := range j.waiters {
		close(w)
	}
	j.waiters = nil
}

// Inject makes a task of the root step with that path run f, as a message of its own.
func (j *Job) Inject(step string, index int, f func(e *exec.Elem)) {
	for _, t := range j.tasks {
		if t.stage.Head.Name == step && t.index == index {
			j.put(t, message{kind: msgCall, call: f})
		}
	}
}

// Quiesce waits until nothing runs any more, or the job has ended, and returns the job's error then. Only one goroutine may
// inject and quiesce.
func (j *Job) Quiesce() error {
	for {
		j.mu.Lock()
		w := make(chan struct{})
		j.waiters = append(j.waiters, w)
		j.mu.Unlock()
		if j.inflight.Load() == 0 && (j.external || j.virtual) {
			select { // it may be the end; only supervise decides
			case j.quiet <- struct{}{}:
			default:
			}
		}
		select {
		case <-w:
		case <-j.over:
		}
		select {
		case <-j.done:
			return j.Wait()
		default:
		}
		if j.inflight.Load() == 0 {
			return nil
		}
	}
}

// Wait waits for the job's end.
func (j *Job) Wait() error {
	<-j.over
	if j.watch != nil {
		<-j.watch
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// Over is closed when the job has ended.
func (j *Job) Over() <-chan struct{} { return j.over }
