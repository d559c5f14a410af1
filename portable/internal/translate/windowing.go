package translate

import (
	"fmt"
	"math"
	"time"

	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/exec"
	"github.com/levadaflow/levada/internal/pane"
	"github.com/levadaflow/levada/portable/internal/urn"
	"github.com/levadaflow/levada/trigger"
	"github.com/levadaflow/levada/window"
)

// globally is the windowing of what comes out of an impulse.
var globally = exec.Windowing{Windows: window.Global(), Trigger: trigger.Default{}}

// maxLateness is the greatest allowed lateness that is sent, in milliseconds: 292 years. Runners compute with nanoseconds.
const maxLateness = math.MaxInt64 / int64(time.Millisecond)

// refuseWindowing says what of a windowing is not supported, "" if all is. Only a grouping looks at more than the windows.
func refuseWindowing(w exec.Windowing, grouping bool) string {
	switch w.Windows.(type) {
	case window.FixedWindows, window.SlidingWindows:
	default:
		if w.Windows != window.Global() {
			return fmt.Sprintf("the window function %v", w.Windows)
		}
	}
	switch {
	case !grouping:
		return ""
	case w.Trigger != trigger.Default{}:
		return fmt.Sprintf("the trigger %v", w.Trigger)
	case w.Panes.Time != pane.EndOfWindow:
		return fmt.Sprintf("the output time %v", w.Panes.Time)
	case w.Panes.ClosingAlways:
		return "a last pane that comes even if it is empty"
	case w.Panes.OnTimeNonEmpty:
		return "a pane at the window's end only if it is not empty"
	}
	return ""
}

// strategy returns the id of a windowing strategy, which is added if it is new. The windowing is one that is supported.
func (b *builder) strategy(w exec.Windowing) (string, error) {
	s := &pipepb.WindowingStrategy{
		MergeStatus: pipepb.MergeStatus_NON_MERGING, AccumulationMode: pipepb.AccumulationMode_DISCARDING,
		Trigger:    &pipepb.Trigger{Trigger: &pipepb.Trigger_Default_{Default: &pipepb.Trigger_Default{}}},
		OutputTime: pipepb.OutputTime_END_OF_WINDOW, ClosingBehavior: pipepb.ClosingBehavior_EMIT_IF_NONEMPTY,
		OnTimeBehavior: pipepb.OnTimeBehavior_FIRE_ALWAYS, AllowedLateness: min(w.Panes.LatenessMillis, maxLateness),
		AssignsToOneWindow: true, EnvironmentId: environmentID, WindowCoderId: b.coder(urn.IntervalWindow, ""),
	}
	if w.Panes.Accumulating {
		s.AccumulationMode = pipepb.AccumulationMode_ACCUMULATING
	}
	var err error
	switch fn := w.Windows.(type) {
	case window.FixedWindows:
		size, _, offset := fn.Grid()
		s.WindowFn, err = windowFn(urn.FixedWindows, &pipepb.FixedWindowsPayload{Size: duration(size), Offset: timestamp(offset)})
	case window.SlidingWindows:
		size, period, offset := fn.Grid()
		s.AssignsToOneWindow = false
		s.WindowFn, err = windowFn(urn.SlidingWindows, &pipepb.SlidingWindowsPayload{
			Size: duration(size), Period: duration(period), Offset: timestamp(offset),
		})
	default:
		s.WindowCoderId = b.coder(urn.GlobalWindow, "")
		s.WindowFn, err = windowFn(urn.GlobalWindows, &pipepb.GlobalWindowsPayload{})
	}
	if err != nil {
		return "", err
	}
	content, err := proto.MarshalOptions{Deterministic: true}.Marshal(s)
	if err != nil {
		return "", err
	}
	id, ok := b.strategies[string(content)]
	if !ok {
		id = fmt.Sprintf("w%d", len(b.strategies))
		b.strategies[string(content)] = id
		b.comps.WindowingStrategies[id] = s
	}
	return id, nil
}

func windowFn(name string, payload proto.Message) (*pipepb.FunctionSpec, error) {
	p, err := proto.Marshal(payload)
	return &pipepb.FunctionSpec{Urn: name, Payload: p}, err
}

func duration(ms event.Time) *durationpb.Duration {
	return durationpb.New(time.Duration(ms) * time.Millisecond)
}

func timestamp(ms event.Time) *timestamppb.Timestamp { return timestamppb.New(ms.Time()) }
