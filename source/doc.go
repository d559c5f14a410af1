// Package source is what the author of a connector imports: restrictions (which part of an input is to be read), trackers (what of
// it has been read) and the rules between them and the engine. A step made of them is levada.ParDoSplit.
//
// Invariants of a [Tracker]:
//   - What a split leaves and what it gives away are together what there was, and share nothing.
//   - A position that was claimed is never given away.
//   - It is used by one goroutine at a time.
package source
