package harness

import (
	"context"
	"errors"
	"fmt"
	"sync"

	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
)

// errTimers is the error of a bundle that is given timers.
var errTimers = errors.New("the runner sent timers, and no stage has any")

// dataStream is the data stream to one address, shared by all bundles.
type dataStream struct {
	stream  fnpb.BeamFnData_DataClient
	sending sync.Mutex // on stream

	mu     sync.Mutex
	inputs map[string]*input // by instruction; nil for a bundle that has ended before its input
	err    error             // why the stream has ended
}

func newDataStream(stream fnpb.BeamFnData_DataClient) *dataStream {
	return &dataStream{stream: stream, inputs: map[string]*input{}}
}

// receive hands what comes to the bundles until the stream ends.
func (d *dataStream) receive() {
	for {
		m, err := d.stream.Recv()
		if err != nil {
			d.end(fmt.Errorf("the data stream has ended: %w", err))
			return
		}
		for _, x := range m.GetData() {
			d.put(x)
		}
		for _, x := range m.GetTimers() {
			if in := d.input(x.GetInstructionId()); in != nil {
				in.fail(errTimers)
			}
		}
	}
}

// end makes every bundle fail that still waits for input.
func (d *dataStream) end(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = err
	for _, in := range d.inputs {
		if in != nil {
			in.fail(err)
		}
	}
}

// put hands data to its bundle, which may not have been begun yet.
func (d *dataStream) put(x *fnpb.Elements_Data) {
	id := x.GetInstructionId()
	if in := d.input(id); in != nil {
		in.put(x)
		return
	}
	if x.GetIsLast() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.inputs, id)
	}
}

// input returns the input of a bundle; nil if it is not wanted any more.
func (d *dataStream) input(id string) *input {
	d.mu.Lock()
	defer d.mu.Unlock()
	in, ok := d.inputs[id]
	if !ok {
		in = &input{ready: make(chan struct{}, 1), err: d.err}
		d.inputs[id] = in
	}
	return in
}

// forget says that a bundle has ended, and whether all of its input had come.
func (d *dataStream) forget(id string, all bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if all || d.err != nil {
		delete(d.inputs, id)
	} else {
		d.inputs[id] = nil
	}
}

// send sends data of a bundle, and with last its terminator, which is an entry of its own.
func (d *dataStream) send(bundle, transform string, data []byte, last bool) error {
	m := &fnpb.Elements{}
	if len(data) > 0 {
		m.Data = append(m.Data, &fnpb.Elements_Data{InstructionId: bundle, TransformId: transform, Data: data})
	}
	if last {
		m.Data = append(m.Data, &fnpb.Elements_Data{InstructionId: bundle, TransformId: transform, IsLast: true})
	}
	d.sending.Lock()
	defer d.sending.Unlock()
	return d.stream.Send(m)
}

// input is the data of one bundle that has come and has not been read.
type input struct {
	ready chan struct{} // has a value if there may be something new
	mu    sync.Mutex
	queue []*fnpb.Elements_Data
	err   error // instead of more
}

func (in *input) put(x *fnpb.Elements_Data) {
	in.mu.Lock()
	in.queue = append(in.queue, x)
	in.mu.Unlock()
	in.wake()
}

func (in *input) fail(err error) {
	in.mu.Lock()
	in.err = err
	in.mu.Unlock()
	in.wake()
}

func (in *input) wake() {
	select {
	case in.ready <- struct{}{}:
	default:
	}
}

// next waits for data and returns it.
func (in *input) next(ctx context.Context) (*fnpb.Elements_Data, error) {
	for {
		in.mu.Lock()
		if len(in.queue) > 0 {
			x := in.queue[0]
			in.queue[0] = nil
			in.queue = in.queue[1:]
			in.mu.Unlock()
			return x, nil
		}
		err := in.err
		in.mu.Unlock()
		if err != nil {
			return nil, err
		}
		select {
		case <-in.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
