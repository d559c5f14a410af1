// Package urn has the names by which Beam's protocols tell things apart, and our own.
//
// Invariant: Beam's names are those of its protos; a test compares them.
package urn

// Transforms.
const (
	Impulse    = "beam:transform:impulse:v1"
	ParDo      = "beam:transform:pardo:v1"
	GroupByKey = "beam:transform:group_by_key:v1"
	Flatten    = "beam:transform:flatten:v1"
	Source     = "beam:runner:source:v1" // where a bundle's elements come from
	Sink       = "beam:runner:sink:v1"   // where they go to
)

// Coders.
const (
	Bytes          = "beam:coder:bytes:v1"
	KV             = "beam:coder:kv:v1"
	Iterable       = "beam:coder:iterable:v1"
	LengthPrefix   = "beam:coder:length_prefix:v1"
	WindowedValue  = "beam:coder:windowed_value:v1"
	GlobalWindow   = "beam:coder:global_window:v1"
	IntervalWindow = "beam:coder:interval_window:v1"
)

// Window functions.
const (
	GlobalWindows  = "beam:window_fn:global_windows:v1"
	FixedWindows   = "beam:window_fn:fixed_windows:v1"
	SlidingWindows = "beam:window_fn:sliding_windows:v1"
)

// External is the environment of workers that are asked for at an address.
const External = "beam:env:external:v1"

// ManyBundles is the capability of running several bundles at a time.
const ManyBundles = "beam:protocol:multi_core_bundle_processing:v1"

// Our own, which no runner looks into.
const (
	Stage = "levada:stage:v1"      // the DoFn of a stage
	Plan  = "levada:coder:plan:v1" // the encoding of a Go type; the payload is its name
)
