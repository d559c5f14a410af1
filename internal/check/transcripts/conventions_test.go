package transcripts

import (
	"fmt"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/scenario"
	"github.com/levadaflow/levada/trigger"
	"github.com/levadaflow/levada/window"
)

// Python's conventions, and what they are here:
//
//   - Numbers are whole seconds, those of results cut off to them. Here they are milliseconds.
//   - A window is written [first second, last second], and so is the last instant of one, which is its end less a
//     microsecond there and less a millisecond here: [0, 9] is [0s, 10s), the session of 1 and 2 with the gap 10 is [1, 11].
//   - A window ends when the watermark has reached its end: the same here.
//   - Elements are dropped if the watermark is greater than the window's end + lateness. Here, as in Java, they are if it is
//     greater than the last instant + lateness (beam-semantics 3.4), so at exactly end + lateness the two differ. No
//     transcript is there; see boundaries in transcripts_test.go.
//   - Accumulation is ACCUMULATING if it is not said; Java's default is the other.
//   - An early or late part of AfterWatermark is wrapped in Repeatedly, which here it is by itself.
//   - Triggers that may lose data are allowed (allow_unsafe_triggers): trigger.MayLoseData.
//   - The default trigger is allowed for unbounded elements in the global window. Here that is refused, as by Java, so it
//     is written as what it means there: the end of the window, repeated.
//   - CustomTimestampingFixedWindowsWindowFn is FixedWindows with an output time of its own, which is for
//     OUTPUT_AT_EARLIEST_TRANSFORMED alone. Java's core has neither (beam-semantics 1.9); what comes nearest is Earliest.
//   - A trigger is asked after a bundle, here after every element; no transcript tells the two apart.
//   - "state" says what is left of a window: it is "present", or a "tombstone", which drops elements because its trigger
//     has finished, or "absent". Python's tests pass over it.

// seconds is a time or a span.
type seconds int64

func (s seconds) time() event.Time { return event.Time(s) * 1000 }

func (s seconds) span() time.Duration { return time.Duration(s) * time.Second }

// secondOf cuts a time off to the second.
func secondOf(t event.Time) seconds { return seconds(t.Floor(1000, 0) / 1000) }

// span is a window as Python's tests write it.
type span [2]seconds

func spanOf(w event.Window) span { return span{secondOf(w.Start), secondOf(w.Last())} }

// windowing returns what a transcript says of windows and triggers.
func (s *transcript) windowing() (levada.Windowing, error) {
	w := levada.Windowing{AllowedLateness: s.AllowedLateness.span(), Accumulation: levada.Accumulating}
	var err error
	if w.Windows, err = windowFn(s.WindowFn); err != nil {
		return w, err
	}
	if w.Trigger, err = triggerFn(s.TriggerFn); err != nil {
		return w, err
	}
	if (w.Trigger == trigger.Trigger(trigger.Default{})) && w.Windows == window.Global() {
		w.Trigger = trigger.Repeat{Trigger: trigger.AfterWatermark{}}
	}
	if w.Trigger.MayFinish() {
		w.Trigger = trigger.MayLoseData{Trigger: w.Trigger}
	}
	switch s.AccumulationMode {
	case "", "accumulating":
	case "discarding":
		w.Accumulation = levada.Discarding
	default:
		return w, fmt.Errorf("accumulation mode %q is not known", s.AccumulationMode)
	}
	switch s.TimestampCombiner {
	case "", "OUTPUT_AT_EOW":
	case "OUTPUT_AT_EARLIEST", "OUTPUT_AT_EARLIEST_TRANSFORMED":
		w.OutputTime = levada.Earliest
	case "OUTPUT_AT_LATEST":
		w.OutputTime = levada.Latest
	default:
		return w, fmt.Errorf("timestamp combiner %q is not known", s.TimestampCombiner)
	}
	return w, nil
}

// windowFn reads a constructor as it is written in Python.
func windowFn(text string) (window.Fn, error) {
	if text == "" {
		return window.Global(), nil
	}
	e, err := scenario.ParseExpr(text)
	if err != nil {
		return nil, err
	}
	n, err := number(e)
	switch {
	case err != nil:
		return nil, err
	case e.Name == "FixedWindows", e.Name == "CustomTimestampingFixedWindowsWindowFn":
		return window.Fixed(seconds(n).span()), nil
	case e.Name == "Sessions":
		return window.Sessions(seconds(n).span()), nil
	}
	return nil, fmt.Errorf("window function %s is not known", text)
}

// triggerFn reads a constructor as it is written in Python.
func triggerFn(text string) (trigger.Trigger, error) {
	if text == "" {
		return trigger.Default{}, nil
	}
	e, err := scenario.ParseExpr(text)
	if err != nil {
		return nil, err
	}
	return triggerOf(e)
}

func triggerOf(e scenario.Expr) (trigger.Trigger, error) {
	switch e.Name {
	case "Default":
		return trigger.Default{}, nil
	case "AfterCount":
		n, err := number(e)
		return trigger.AfterCount(n), err
	case "AfterWatermark":
		var t trigger.AfterWatermark
		for _, o := range e.Named {
			part, err := triggerOf(o.Value)
			switch {
			case err != nil:
				return nil, err
			case o.Key == "early":
				t.Early = part
			case o.Key == "late":
				t.Late = part
			default:
				return nil, fmt.Errorf("part %s= of %v is not known", o.Key, e)
			}
		}
		return t, nil
	}
	return nil, fmt.Errorf("trigger %v is not known", e)
}

// number returns the one argument of a call.
func number(e scenario.Expr) (int64, error) {
	if len(e.Args) != 1 || len(e.Named) > 0 {
		return 0, fmt.Errorf("%v does not have one argument", e)
	}
	return e.Args[0].Int()
}
