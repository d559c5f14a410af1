package urn_test

import (
	"testing"

	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/levadaflow/levada/portable/internal/urn"
)

// TestBeamNames shows that the names are those of Beam's protos.
func TestBeamNames(t *testing.T) {
	for have, value := range map[string]protoreflect.Enum{
		urn.Impulse:        pipepb.StandardPTransforms_IMPULSE,
		urn.ParDo:          pipepb.StandardPTransforms_PAR_DO,
		urn.GroupByKey:     pipepb.StandardPTransforms_GROUP_BY_KEY,
		urn.Flatten:        pipepb.StandardPTransforms_FLATTEN,
		urn.Bytes:          pipepb.StandardCoders_BYTES,
		urn.KV:             pipepb.StandardCoders_KV,
		urn.Iterable:       pipepb.StandardCoders_ITERABLE,
		urn.LengthPrefix:   pipepb.StandardCoders_LENGTH_PREFIX,
		urn.WindowedValue:  pipepb.StandardCoders_WINDOWED_VALUE,
		urn.GlobalWindow:   pipepb.StandardCoders_GLOBAL_WINDOW,
		urn.IntervalWindow: pipepb.StandardCoders_INTERVAL_WINDOW,
		urn.GlobalWindows:  pipepb.GlobalWindowsPayload_PROPERTIES,
		urn.FixedWindows:   pipepb.FixedWindowsPayload_PROPERTIES,
		urn.SlidingWindows: pipepb.SlidingWindowsPayload_PROPERTIES,
		urn.External:       pipepb.StandardEnvironments_EXTERNAL,
		urn.ManyBundles:    pipepb.StandardProtocols_MULTI_CORE_BUNDLE_PROCESSING,
	} {
		o := value.Descriptor().Values().ByNumber(value.Number()).Options()
		if want := proto.GetExtension(o, pipepb.E_BeamUrn); have != want {
			t.Errorf("%v is %q, and here %q", value, want, have)
		}
	}
}
