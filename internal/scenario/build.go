package scenario

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
	_ "time/tzdata" // zones, wherever the command runs

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/combine"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/levadatest"
	"github.com/levadaflow/levada/trigger"
	"github.com/levadaflow/levada/window"
)

// Problems that a scenario can have and a typed program cannot.
var (
	errUnknownStep = errors.New("unknown step")
	errUnknownOp   = errors.New("unknown operation")
	errBadArgument = errors.New("bad argument")
)

// codes are the error codes of the format, for problems of building.
var codes = []struct {
	err  error
	code string
}{
	{errUnknownStep, "unknown-step"}, {errUnknownOp, "unknown-op"}, {errBadArgument, "bad-argument"},
	{levada.ErrDuplicateName, "duplicate-name"}, {levada.ErrBadWindow, "bad-window"}, {levada.ErrBadLateness, "bad-lateness"},
	{levada.ErrBadSkew, "bad-skew"}, {levada.ErrUnboundedGlobal, "unbounded-global"},
	{levada.ErrAccumulationUnset, "accumulation-unset"}, {levada.ErrIncompatibleFlatten, "incompatible-flatten"},
	{levada.ErrStatefulMerging, "stateful-merging"}, {levada.ErrSideMerging, "side-merging"}, {levada.ErrUnsafeTrigger, "unsafe-trigger"}, {levada.ErrBadTrigger, "bad-argument"},
}

// failures are the codes for a pipeline that fails while it runs.
var failures = []struct {
	err  error
	code string
}{{levada.ErrOutOfRange, "out-of-range"}, {levada.ErrSkew, "skew"}, {levada.ErrZeroTime, "zero-time"}}

// program is a pipeline block, built.
type program struct {
	driver  *levadatest.Driver
	sources map[string]*levadatest.Script[pair]
	steps   map[string]*built
	order   []string // the names, as they stand in the file
	leaves  []leaf
	refused []string // error lines
}

// built is a step of a program.
type built struct {
	out   levada.PCollection[pair]
	late  *levada.LateOf[string, value] // of the steps that drop
	lists bool                          // its values are lists
	read  bool                          // another step reads its main output
	wrong bool                          // it could not be built
	// sorted says that the step is one with sorted input.
	sorted bool
}

// leaf is a step whose output is printed.
type leaf struct {
	name   string
	got    *levadatest.Collected[pair]
	sorted bool // its order counts
}

// buildProgram builds the pipeline through the public API.
func buildProgram(steps []Step, run levada.Embedded) *program {
	p := &program{driver: levadatest.NewDriver(), sources: map[string]*levadatest.Script[pair]{}, steps: map[string]*built{}}
	p.driver.Run = run
	for _, s := range steps {
		p.step(s)
	}
	for _, name := range p.order {
		if b := p.steps[name]; !b.read && !b.wrong {
			p.leaves = append(p.leaves, leaf{name, levadatest.Gather(b.out, "leaf-of-"+name), b.sorted})
		}
	}
	var problems levada.BuildErrors
	if errors.As(p.driver.Pipeline.Err(), &problems) {
		for _, x := range problems {
			p.refuse(x.Step, x.Err)
		}
	}
	slices.Sort(p.refused)
	return p
}

func (p *program) refuse(step string, err error) {
	code := "other"
	for _, c := range codes {
		if errors.Is(err, c.err) {
			code = c.code
		}
	}
	line := fmt.Sprintf("error: %s %s", code, step)
	if code == "other" {
		line += ": " + err.Error()
	}
	p.refused = append(p.refused, line)
}

// step adds one step.
func (p *program) step(s Step) {
	ins := make([]*built, len(s.Inputs))
	wrong := false
	for i, name := range s.Inputs {
		if ins[i] = p.steps[name]; ins[i] == nil {
			p.refuse(s.Name, errUnknownStep)
			wrong = true
			break
		}
		wrong = wrong || ins[i].wrong
	}
	b := &built{wrong: wrong}
	if !wrong {
		p.bind(s, b, ins)
	}
	if p.steps[s.Name] == nil {
		p.steps[s.Name] = b
		p.order = append(p.order, s.Name)
	}
}

// bind adds a step whose inputs are there.
func (p *program) bind(s Step, b *built, ins []*built) {
	for _, in := range ins {
		if in.lists && s.Op != "flatten" && s.Op != "reshuffle" && s.Op != "late" {
			b.wrong = true
			p.refuse(s.Name, errBadArgument)
			return
		}
		if s.Op != "late" {
			in.read = true
		}
		b.lists = b.lists || in.lists && s.Op != "late"
	}
	switch s.Op {
	case "script":
		src := levadatest.AddScript[pair](p.driver, s.Name)
		b.out = src.Out
		p.sources[s.Name] = src
	case "create":
		b.out = create(p.driver.Pipeline, s)
	case "side":
		b.out = side(ins[0].out, ins[1].out, s.Name)
	case "poll":
		b.out = poll(p.driver.Pipeline, s)
	case "late":
		if ins[0].late == nil {
			b.wrong = true
			p.refuse(s.Name, errBadArgument)
			return
		}
		b.out = levada.Map(*ins[0].late, s.Name, func(v pair) pair { return v })
	case "flatten":
		var more []levada.PCollection[pair]
		for _, in := range ins[1:] {
			more = append(more, in.out)
		}
		b.out = levada.Flatten(s.Name, ins[0].out, more...)
	default:
		if _, unknown := s.Spec.(Unknown); unknown {
			b.wrong = true
			p.refuse(s.Name, errUnknownOp)
			return
		}
		p.transform(s, b, ins[0].out)
	}
}

// transform adds a step with one input.
func (p *program) transform(s Step, b *built, in levada.PCollection[pair]) {
	b.late = new(levada.LateOf[string, value])
	late := levada.LateTo(b.late)
	switch s.Op {
	case "with-timestamps":
		b.out = stampStep(in, s)
	case "shift-watermark":
		spec := s.Spec.(Shift)
		fn := timeFn(spec.Fn)
		if spec.Fn.Name == "zero" {
			b.out = levada.ShiftTimestamps(in, s.Name, duration(spec.By), func(pair, event.Time) time.Time { return time.Time{} })
			break
		}
		b.out = levada.ShiftTimestamps(in, s.Name, duration(spec.By), fn)
	case "window":
		b.out = levada.WindowInto(in, s.Name, windowingOf(s.Spec.(Windowing)))
	case "group":
		grouped := levada.GroupByKey(in, s.Name, late)
		b.out = levada.Map(grouped, "list-of-"+s.Name, func(kv levada.KV[string, levada.Values[value]]) pair {
			return pair{Key: kv.Key, Value: list(kv.Value)}
		})
		b.lists = true
	case "sum":
		b.out = levada.CombinePerKey(in, s.Name, numbers[int64, int64]{combine.Sum[int64](), number}, late)
	case "count":
		b.out = levada.CombinePerKey(in, s.Name, numbers[int64, int64]{combine.Count[int64](), number}, late)
	case "min":
		b.out = levada.CombinePerKey(in, s.Name, numbers[extremes, extremes]{combine.Min[int64](), extreme}, late)
	case "max":
		b.out = levada.CombinePerKey(in, s.Name, numbers[extremes, extremes]{combine.Max[int64](), extreme}, late)
	case "reshuffle":
		b.out = levada.Reshuffle(in, s.Name)
	case "key":
		key := s.Spec.(Key).Key
		b.out = levada.Map(in, s.Name, func(kv pair) pair { return pair{Key: key, Value: kv.Value} })
	case "add":
		n := s.Spec.(Add).N
		b.out = levada.Map(in, s.Name, func(kv pair) pair { return pair{Key: kv.Key, Value: number(kv.Value.N + n)} })
	default:
		fn, err := stateful(s)
		if err != nil {
			b.wrong = true
			p.refuse(s.Name, err)
			return
		}
		b.out = levada.ParDoKeyed(in, s.Name, fn, late)
		b.sorted = s.Op == "sorted"
	}
	if !slices.Contains([]string{"group", "sum", "count", "min", "max", "batch", "expire", "sorted"}, s.Op) {
		b.late = nil
	}
}

type extremes = combine.Extreme[int64]

func create(p *levada.Pipeline, s Step) levada.PCollection[pair] {
	var all []levada.Timed[pair]
	for _, e := range s.Spec.(Create).Elements {
		all = append(all, levada.Timed[pair]{Value: pair{Key: e.Key, Value: number(e.Value)}, Time: e.Time})
	}
	return levada.CreateTimed(p, s.Name, all...)
}

func stampStep(in levada.PCollection[pair], s Step) levada.PCollection[pair] {
	spec := s.Spec.(Stamp)
	skew := levada.AllowedSkew(duration(spec.Skew))
	if spec.Skew == Inf {
		skew = levada.AnySkew
	}
	if spec.Fn.Name == "zero" {
		return levada.WithTimestamps(in, s.Name, func(pair) time.Time { return time.Time{} }, skew)
	}
	return levada.WithTimestampsFrom(in, s.Name, timeFn(spec.Fn), skew)
}

// timeFn returns the function of value, shift(D) and at(T), whose arguments the parser has checked.
func timeFn(fn Expr) func(pair, event.Time) event.Time {
	switch fn.Name {
	case "shift":
		by, _ := fn.Args[0].Duration()
		return func(_ pair, present event.Time) event.Time { return present.AddMillis(by) }
	case "at":
		at, _ := fn.Args[0].Time()
		return func(pair, event.Time) event.Time { return at }
	}
	return func(kv pair, _ event.Time) event.Time { return event.Time(kv.Value.N) }
}

// windowingOf returns the window step's windowing; its functions and triggers are supported.
func windowingOf(w Windowing) levada.Windowing {
	firings := map[string]levada.Firing{"always": levada.Always, "non-empty": levada.NonEmpty}
	out := levada.Windowing{
		Windows:      windowFns[w.Fn.Name](w.Fn),
		Trigger:      triggerOf(w.Trigger),
		Accumulation: map[string]levada.Accumulation{"yes": levada.Accumulating, "no": levada.Discarding}[w.Accumulate],
		OutputTime:   map[string]levada.OutputTime{"earliest": levada.Earliest, "latest": levada.Latest}[w.Time],
		Closing:      firings[w.Closing],
		OnTime:       firings[w.OnTime],
	}
	if w.Unsafe {
		out.Trigger = trigger.MayLoseData{Trigger: out.Trigger}
	}
	if w.HasLateness {
		if out.AllowedLateness = duration(w.Lateness); w.Lateness == Inf {
			out.AllowedLateness = levada.AnyLateness
		}
	}
	return out
}

// triggerOf returns the trigger of an expression; nil for one that is not known.
func triggerOf(e Expr) trigger.Trigger {
	parts := make([]trigger.Trigger, len(e.Args))
	for i, a := range e.Args {
		parts[i] = triggerOf(a)
	}
	named := func(key string) trigger.Trigger {
		if x, ok := e.Lookup(key); ok {
			return triggerOf(x)
		}
		return nil
	}
	switch {
	case e.IsZero(), e.Name == "default":
		return trigger.Default{}
	case e.Name == "after-watermark", e.Name == "after-end-of-window":
		return trigger.AfterWatermark{Early: named("early"), Late: named("late")}
	case e.Name == "never":
		return trigger.Never{}
	case e.Name == "after-each":
		return trigger.AfterEach(parts)
	case e.Name == "after-any":
		return trigger.AfterAny(parts)
	case e.Name == "after-all":
		return trigger.AfterAll(parts)
	case e.Name == "after-count" && len(parts) == 1:
		n, _ := e.Args[0].Int()
		return trigger.AfterCount(n)
	case e.Name == "after-delay" && len(parts) == 1:
		return trigger.AfterDelay(arg(e, 0))
	case e.Name == "repeat" && len(parts) == 1:
		return trigger.Repeat{Trigger: parts[0]}
	case e.Name == "or-finally" && len(parts) == 2:
		return trigger.OrFinally{Main: parts[0], Finally: parts[1]}
	}
	return nil
}

// windowFns are the window functions that are supported.
var windowFns = map[string]func(Expr) window.Fn{
	"global": func(Expr) window.Fn { return window.Global() },
	"fixed": func(e Expr) window.Fn {
		return window.Fixed(arg(e, 0)).Offset(arg(e, 1))
	},
	"sliding": func(e Expr) window.Fn {
		return window.Sliding(arg(e, 0), arg(e, 1)).Offset(arg(e, 2))
	},
	"days":     func(e Expr) window.Fn { return window.Days(zone(e)) },
	"weeks":    func(e Expr) window.Fn { return window.Weeks(zone(e)) },
	"months":   func(e Expr) window.Fn { return window.Months(zone(e)) },
	"years":    func(e Expr) window.Fn { return window.Years(zone(e)) },
	"sessions": func(e Expr) window.Fn { return window.Sessions(arg(e, 0)) },
}

// zone returns the time zone among the arguments, nil if it is not known.
func zone(e Expr) *time.Location {
	if len(e.Args) != 1 {
		return nil
	}
	z, err := time.LoadLocation(e.Args[0].String())
	if err != nil {
		return nil
	}
	return z
}

// arg returns a duration among the arguments, 0 if it was left out.
func arg(e Expr, i int) time.Duration {
	if i >= len(e.Args) {
		return 0
	}
	ms, _ := e.Args[i].Duration()
	return duration(ms)
}

// duration saturates at the ends of time.Duration, in whole milliseconds.
func duration(ms int64) time.Duration {
	const limit = math.MaxInt64 / int64(time.Millisecond)
	return time.Duration(min(max(ms, -limit), limit)) * time.Millisecond
}
