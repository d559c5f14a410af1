package textio

import (
	"context"
	"fmt"
	"io"
)

// patientBytes are asked for in one read.
const patientBytes = 64 << 10

// patient is a reader whose Read ends when its context does, also when that of the reader below does not: a read from a pipe
// cannot be interrupted. It belongs to one goroutine.
type patient struct {
	ctx    context.Context // of the next Read
	ask    chan struct{}   // a read is wanted; closed when no more will be
	answer chan answer
	rest   answer
}

// answer is what one read gave. Its data is valid until the next is asked for.
type answer struct {
	data []byte
	err  error
}

func newPatient(r io.Reader) *patient {
	// Each channel has room for all that can be on its way: nobody waits for the other to come.
	p := &patient{ask: make(chan struct{}, 1), answer: make(chan answer, 1)}
	go func() {
		buf := make([]byte, patientBytes)
		for range p.ask {
			p.answer <- readOnce(r, buf)
		}
	}()
	return p
}

// readOnce reads into buf. A panic becomes an error: nobody else could recover it.
func readOnce(r io.Reader, buf []byte) (a answer) {
	defer func() {
		if p := recover(); p != nil {
			a = answer{err: fmt.Errorf("panic: %v", p)}
		}
	}()
	n, err := r.Read(buf)
	return answer{buf[:n], err}
}

// Read implements [io.Reader]. After an error that is the context's it must not be called again.
func (p *patient) Read(dst []byte) (int, error) {
	if len(p.rest.data) == 0 && p.rest.err == nil {
		p.ask <- struct{}{}
		select {
		case p.rest = <-p.answer:
		case <-p.ctx.Done():
			return 0, context.Cause(p.ctx)
		}
	}
	n := copy(dst, p.rest.data)
	if p.rest.data = p.rest.data[n:]; len(p.rest.data) > 0 {
		return n, nil
	}
	return n, p.rest.err
}

// release ends the goroutine, after the read that it is in.
func (p *patient) release() { close(p.ask) }
