package proxy

// apart is the goroutine that reads the stream of a claimed run. The goroutine that pulls owns all
// fields but silent.
type apart struct {
	silent chan struct{} // gets a value from watch on a claimed run
	fills  chan struct{} // asks for a fill of a claimed run; nil before the first
	filled chan struct{} // gets a value when such a fill has ended
	busy   bool          // such a fill is under way
	left   bool          // the client's stream has ended, the exchange has not
}
