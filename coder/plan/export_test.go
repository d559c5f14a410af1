package plan

// HashBytes hashes an encoding.
func HashBytes(b []byte) uint64 { return digest{state: seed}.bytes(b).sum() }
