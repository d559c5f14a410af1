package harness_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"google.golang.org/grpc"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/coder"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/portable/internal/urn"
	"github.com/levadaflow/levada/portable/internal/wire"
	"github.com/levadaflow/levada/window"
)

// words counts words in windows of a second: stage 0 is the root, stage 1 behind the first grouping.
func words(p *levada.Pipeline) {
	in := levada.WindowInto(levada.CreateTimed(p, "words",
		levada.Timed[string]{Value: "a", Time: 1}, levada.Timed[string]{Value: "b", Time: 1500}, levada.Timed[string]{Value: "a", Time: 2}),
		"seconds", levada.Windowing{Windows: window.Fixed(time.Second)})
	counts := levada.CountPerKey(levada.KeyBy(in, "key", func(s string) string { return s }), "count")
	checked := levada.TryMap(counts, "check", func(kv levada.KV[string, int64]) (levada.KV[string, int64], error) {
		if kv.Key == "bad" {
			return kv, errors.New("a bad word")
		}
		return kv, nil
	})
	levada.SumPerKey(checked, "sum")
	levada.GroupByKey(checked, "again")
}

// group is an element behind a grouping of strings, as a runner writes it.
func group(t *testing.T, at event.Time, w event.Window, key, iterable string) []byte {
	t.Helper()
	out, err := wire.AppendHeader(nil, &wire.Header{Time: at, Windows: []event.Window{w}, Pane: event.NoPane}, coder.IntervalWindow())
	check(t, err)
	return append(wire.AppendPrefixed(out, append([]byte{byte(len(key))}, key...)), iterable...)
}

var second = event.Window{Start: 0, End: 1000}

// three are three values, one behind the other: strings behind their lengths, behind their lengths.
const three = "\x02\x01x\x02\x01y\x02\x01z"

// elements reads what a stage has sent to a grouping of strings.
func elements(t *testing.T, data []byte) (all []string) {
	t.Helper()
	var h wire.Header
	for len(data) > 0 {
		rest, err := h.Read(data, coder.IntervalWindow())
		check(t, err)
		key, rest, err := wire.Prefixed(rest)
		check(t, err)
		value, rest, err := wire.Prefixed(rest)
		check(t, err)
		all = append(all, fmt.Sprintf("%s=%x at %v in %v", key[1:], value, h.Time.Millis(), h.Windows))
		data = rest
	}
	slices.Sort(all)
	return all
}

// TestBundles shows that data may come before its bundle, in several messages and both forms of an iterable; that bundles share
// an instance one after the other; that every output is ended once; and that the root's elements come from an impulse.
func TestBundles(t *testing.T) {
	r := newRunner(t, words)
	r.describe("root", 0, nil)
	r.describe("counts", 1, nil)
	control := r.worker()
	check(t, control.Send(bundle("b1", "root")))
	data := receive(t, r.data)
	impulse, err := wire.AppendHeader(nil, &wire.Header{Time: event.Min, Windows: []event.Window{event.Global()}, Pane: event.NoPane}, coder.GlobalWindow())
	check(t, err)
	check(t, data.Send(input("b1", append(impulse, 0), true)))
	ok(t, receive(t, r.answers), "b1")
	want := []string{
		"a=0161 at 1 in [[1970-01-01T00:00:00.000Z, 1970-01-01T00:00:01.000Z)]",
		"a=0161 at 2 in [[1970-01-01T00:00:00.000Z, 1970-01-01T00:00:01.000Z)]",
		"b=0162 at 1500 in [[1970-01-01T00:00:01.000Z, 1970-01-01T00:00:02.000Z)]",
	}
	if got := elements(t, r.output("b1", "sink-e0")); !slices.Equal(got, want) {
		t.Errorf("the root gives %q", got)
	}
	for _, id := range []string{"b2", "b3"} {
		check(t, data.Send(input(id, slices.Concat(
			group(t, 999, second, "a", "\x00\x00\x00\x03"+three), group(t, 999, second, "b", "\xff\xff\xff\xff\x03"+three+"\x01\x02\x01u\x00"),
		), false)))
		check(t, data.Send(input(id, group(t, 999, second, "c", "\x00\x00\x00\x00"), false)))
		check(t, data.Send(input(id, nil, true)))
		check(t, control.Send(bundle(id, "counts")))
		ok(t, receive(t, r.answers), id)
		for _, sink := range []string{"sink-e0", "sink-e1"} {
			const at = " at 999 in [[1970-01-01T00:00:00.000Z, 1970-01-01T00:00:01.000Z)]"
			if got := elements(t, r.output(id, sink)); !slices.Equal(got, []string{"a=03" + at, "b=04" + at, "c=00" + at}) {
				t.Errorf("bundle %s: %s has %q", id, sink, got)
			}
		}
	}
	check(t, r.pool.Close())
}

// ok shows that a bundle has been answered well.
func ok(t *testing.T, a *fnpb.InstructionResponse, id string) {
	t.Helper()
	if a.GetInstructionId() != id || a.GetError() != "" || a.GetProcessBundle() == nil {
		t.Fatalf("bundle %s is answered with %v", id, a)
	}
}

// TestBadBundles shows what makes a bundle fail, with what text, and that the worker goes on.
func TestBadBundles(t *testing.T) {
	r := newRunner(t, words)
	r.describe("counts", 1, nil)
	pardo := func(d *fnpb.ProcessBundleDescriptor) *pipepb.PTransform { return d.GetTransforms()["t1-stage"] }
	r.describe("extra", 1, func(d *fnpb.ProcessBundleDescriptor) {
		d.Transforms["flat"] = &pipepb.PTransform{Spec: &pipepb.FunctionSpec{Urn: urn.Flatten}}
	})
	r.describe("no sink", 1, func(d *fnpb.ProcessBundleDescriptor) { delete(d.Transforms, "sink-e1") })
	r.describe("foreign", 1, func(d *fnpb.ProcessBundleDescriptor) { pardo(d).Spec.Payload = nil })
	r.describe("no stage", 1, func(d *fnpb.ProcessBundleDescriptor) { delete(d.Transforms, "t1-stage") })
	r.describe("other pipeline", 1, func(d *fnpb.ProcessBundleDescriptor) {
		pardo(d).Spec.Payload = []byte(strings.Replace(string(pardo(d).Spec.Payload), `"Head":"count"`, `"Head":"cuont"`, 1))
	})
	r.describe("other coder", 1, func(d *fnpb.ProcessBundleDescriptor) {
		c := d.Coders["windowed-"+pardo(d).GetInputs()["in"]]
		c.ComponentCoderIds[0] = d.Coders[c.ComponentCoderIds[0]].ComponentCoderIds[0]
	})
	r.describe("other windows", 1, func(d *fnpb.ProcessBundleDescriptor) {
		c := d.Coders["windowed-"+pardo(d).GetInputs()["in"]]
		d.Coders[c.ComponentCoderIds[1]].Spec.Urn = "beam:coder:custom_window:v1"
	})
	control := r.worker()
	for i, bad := range []struct {
		descriptor, text string
		data             []byte
	}{
		{"counts", "step check, element bad: 3 at 1970-01-01T00:00:00.999Z in window [1970-01-01T00:00:00.000Z, 1970-01-01T00:00:01.000Z): a bad word",
			group(t, 999, second, "bad", "\x00\x00\x00\x03"+three)},
		{"counts", "step count", group(t, 999, second, "a", "\x00\x00\x00\x01\x02\x05x")},
		{"counts", "bytes are left over", group(t, 999, second, "a", "\x00\x00\x00\x01\x03\x01xy")},
		{"counts", "kept in the runner's state", group(t, 999, second, "a", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01t")},
		{"counts", "reading the input of step count", []byte("x")},
		{"nobody knows", "no descriptor nobody knows", nil},
		{"extra", "transform flat (beam:transform:flatten:v1) is not one that this worker can run here", nil},
		{"no sink", "output 1: it has no address", nil},
		{"foreign", "is not one of this worker's", nil},
		{"no stage", "is not one of this worker's", nil},
		{"other pipeline", "this worker's pipeline is another one", nil},
		{"other coder", "elements with the coder beam:coder:length_prefix:v1", nil},
		{"other windows", "windows with the coder beam:coder:custom_window:v1", nil},
	} {
		id := fmt.Sprint("b", i)
		check(t, control.Send(bundle(id, bad.descriptor)))
		if bad.data != nil {
			if i == 0 {
				r.data <- receive(t, r.data)
			}
			data := <-r.data
			r.data <- data
			check(t, data.Send(input(id, bad.data, i%2 == 0)))
		}
		if a := receive(t, r.answers); a.GetInstructionId() != id || a.GetResponse() != nil || !strings.Contains(a.GetError(), bad.text) {
			t.Errorf("bundle %s of %s is answered with %v, and not with %q", id, bad.descriptor, a, bad.text)
		}
	}
	data := <-r.data
	check(t, data.Send(input("b1", nil, true))) // what is left of a bundle that has failed
	check(t, control.Send(bundle("good", "counts")))
	check(t, data.Send(input("good", nil, true)))
	ok(t, receive(t, r.answers), "good")
	if err := r.pool.Close(); err == nil || !strings.Contains(err.Error(), "a bad word") {
		t.Errorf("the first failure is %v", err)
	}
}

// TestOtherInstructions shows that everything is answered while a bundle waits for its input, and that it ends with the worker.
func TestOtherInstructions(t *testing.T) {
	r := newRunner(t, words)
	r.describe("counts", 1, nil)
	control := r.worker()
	check(t, control.Send(bundle("b", "counts")))
	receive(t, r.data)
	check(t, control.Send(&fnpb.InstructionRequest{InstructionId: "1", Request: &fnpb.InstructionRequest_ProcessBundleProgress{}}))
	if a := receive(t, r.answers); a.GetInstructionId() != "1" || a.GetProcessBundleProgress() == nil {
		t.Errorf("progress is answered with %v", a)
	}
	check(t, control.Send(&fnpb.InstructionRequest{InstructionId: "2", Request: &fnpb.InstructionRequest_ProcessBundleSplit{}}))
	if a := receive(t, r.answers); a.GetInstructionId() != "2" || a.GetProcessBundleSplit() == nil {
		t.Errorf("a split is answered with %v", a)
	}
	check(t, control.Send(&fnpb.InstructionRequest{InstructionId: "3", Request: &fnpb.InstructionRequest_FinalizeBundle{}}))
	if a := receive(t, r.answers); a.GetInstructionId() != "3" || a.GetFinalizeBundle() == nil {
		t.Errorf("finalization is answered with %v", a)
	}
	check(t, control.Send(&fnpb.InstructionRequest{InstructionId: "4", Request: &fnpb.InstructionRequest_SampleData{}}))
	if a := receive(t, r.answers); a.GetInstructionId() != "4" || a.GetError() == "" {
		t.Errorf("a sample is answered with %v", a)
	}
	close(r.over)
	check(t, r.pool.Close())
}

// TestStartWorker shows which workers are not started.
func TestStartWorker(t *testing.T) {
	r := newRunner(t, words)
	r.worker()
	there := &pipepb.ApiServiceDescriptor{Url: r.address}
	secure := &pipepb.ApiServiceDescriptor{Url: r.address, Authentication: &pipepb.AuthenticationSpec{}}
	for want, request := range map[string]*fnpb.StartWorkerRequest{
		"worker w1: there is a worker of this name":     {WorkerId: "w1", ControlEndpoint: there},
		"worker w2: no control endpoint":                {WorkerId: "w2"},
		"worker w3: secure endpoints are not supported": {WorkerId: "w3", ControlEndpoint: secure},
	} {
		if got := r.start(request); got != want {
			t.Errorf("%v is answered with %q", request, got)
		}
	}
	conn, err := grpc.NewClient(r.pool.Address(), insecurely)
	check(t, err)
	defer conn.Close()
	stop := func(id string) string {
		a, err := fnpb.NewBeamFnExternalWorkerPoolClient(conn).StopWorker(t.Context(), &fnpb.StopWorkerRequest{WorkerId: id})
		check(t, err)
		return a.GetError()
	}
	if got := stop("w1"); got != "" {
		t.Errorf("stopping a worker: %s", got)
	}
	if got := stop("w1"); got != "there is no worker w1" {
		t.Errorf("stopping it again: %s", got)
	}
}
