package portable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/portable/internal/harness"
	"github.com/levadaflow/levada/portable/internal/translate"
)

// ErrNotSupported is wrapped by the error of a pipeline that has something which this runner cannot do yet. It is a
// levada.BuildErrors with every such step. Not supported are sources and sinks of files, Reshuffle, state and timers, windows but
// global, fixed and sliding ones, triggers but the default one, output times but the end of the window, Closing and OnTime, LateTo.
var ErrNotSupported = translate.ErrNotSupported

// ErrJob is wrapped by the error of a job that has failed where no step has: the text is the runner's.
var ErrJob = errors.New("the job failed")

// Runner is a [levada.Runner] that submits the pipeline to a job service of Beam's (Prism, Flink's job server). The workers are in
// this process: the runner must be able to reach it.
type Runner struct {
	// Endpoint is the address of the job service, HOST:PORT.
	Endpoint string
	// JobName is the job's name at the runner; "" is "levada".
	JobName string
}

// Run implements [levada.Runner]. A failure of a step is a *levada.StepError; another failure of the job wraps ErrJob. If ctx is
// cancelled the job is cancelled too, and Run returns when the runner says that it has ended, at most after 5 s. If the run was
// ended and user code does not return within 5 s, the error wraps levada.ErrHanging and names the step. The Result has no
// counters and no watermarks yet.
func (r Runner) Run(ctx context.Context, p *levada.Pipeline) (*levada.Result, error) {
	g, err := p.Build()
	if err != nil {
		return nil, err
	}
	stages := g.Fuse()
	if err := translate.Check(stages); err != nil {
		return nil, err
	}
	pool, err := harness.Open(ctx, g, stages)
	if err != nil {
		return nil, err
	}
	pipeline, err := translate.Pipeline(g, stages, pool.Address())
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	err = r.job(ctx, pipeline, pool)
	failed := pool.Close()
	switch {
	case ctx.Err() != nil && errors.Is(failed, levada.ErrHanging):
		return &levada.Result{}, errors.Join(failed, cancelled(ctx))
	case ctx.Err() != nil:
		return &levada.Result{}, cancelled(ctx)
	case failed != nil:
		return &levada.Result{}, levada.PublicError(failed)
	case err != nil:
		return &levada.Result{}, err
	}
	return &levada.Result{}, nil
}

// cancelled returns the error of a run whose context is done.
func cancelled(ctx context.Context) error {
	err := fmt.Errorf("the run was cancelled: %w", context.Cause(ctx))
	if !errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return err
}

// job submits the pipeline and waits for the job's end. When ctx is done it cancels the job.
func (r Runner) job(ctx context.Context, p *pipepb.Pipeline, pool *harness.Pool) error {
	conn, err := grpc.NewClient(r.Endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32)))
	if err != nil {
		return fmt.Errorf("%w: connecting to %s: %w", ErrJob, r.Endpoint, err)
	}
	defer conn.Close()
	client := jobpb.NewJobServiceClient(conn)
	name := r.JobName
	if name == "" {
		name = "levada"
	}
	late, stop := linger(ctx) // so that a job that has been started is cancelled
	defer stop()
	prepared, err := client.Prepare(ctx, &jobpb.PrepareJobRequest{Pipeline: p, JobName: name, PipelineOptions: &structpb.Struct{}})
	if err != nil {
		return fmt.Errorf("%w: submitting it to %s: %w", ErrJob, r.Endpoint, err)
	}
	started, err := client.Run(late, &jobpb.RunJobRequest{PreparationId: prepared.GetPreparationId()})
	if err != nil {
		return fmt.Errorf("%w: starting it at %s: %w", ErrJob, r.Endpoint, err)
	}
	id := started.GetJobId()
	unhook := context.AfterFunc(ctx, func() { _, _ = client.Cancel(late, &jobpb.CancelJobRequest{JobId: id}) })
	defer unhook()
	if err := await(late, client, id); err != nil {
		pool.AwaitWorker()
		return fmt.Errorf("%w: %w", ErrJob, err)
	}
	return nil
}

// await waits for the end of a job and returns its failure.
func await(ctx context.Context, client jobpb.JobServiceClient, id string) error {
	messages, err := client.GetMessageStream(ctx, &jobpb.JobMessagesRequest{JobId: id})
	if err != nil {
		return err
	}
	var state jobpb.JobState_Enum
	var failure string // the runner's last word
	for state != jobpb.JobState_FAILED || failure == "" {
		m, err := messages.Recv()
		if errors.Is(err, io.EOF) && state == jobpb.JobState_FAILED {
			return errors.New("the runner does not say why")
		}
		if err != nil {
			return fmt.Errorf("listening to it: %w", err)
		}
		if x := m.GetMessageResponse(); x.GetImportance() >= jobpb.JobMessage_JOB_MESSAGE_ERROR {
			failure = x.GetMessageText()
		}
		switch s := m.GetStateResponse(); s.GetState() {
		case jobpb.JobState_DONE, jobpb.JobState_DRAINED:
			return nil
		case jobpb.JobState_CANCELLED, jobpb.JobState_UPDATED:
			return fmt.Errorf("it has ended as %v", s.GetState())
		case jobpb.JobState_FAILED:
			state = s.GetState()
		}
	}
	return errors.New(failure)
}
