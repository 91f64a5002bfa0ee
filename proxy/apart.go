package proxy

// apart is the goroutine in which the stream of a claimed run is read. The fields but silent are of
// the one who pulls.
type apart struct {
	silent chan struct{} // gets a value from watch on a claimed run
	fills  chan struct{} // asks for a fill of a claimed run; nil before the first
	filled chan struct{} // gets a value when such a fill has ended
	busy   bool          // such a fill is under way
	left   bool          // the client's stream has ended, the exchange has not
}
