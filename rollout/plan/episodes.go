package plan

const (
	// wideMember is a number of bytes that a step reads for a member. From there on, products of several episodes with
	// the same weights are faster on a CPU than one episode after the other.
	wideMember = 20 << 10
	// manyEpisodes are faster side by side, too, however narrow the network is.
	manyEpisodes = 32
	// leastBatch is the least number of episodes side by side: XLA's batched products of 2 or 3 rows take up to 13
	// times as long on a CPU as products of single rows.
	leastBatch = 4
)

// EpisodeBatch returns the number of a member's episodes that run side by side: all or 1. bytes is what a step reads
// for each member. On an accelerator it is all, since the launch of an operation costs more than its work.
func EpisodeBatch(episodes, bytes int, accelerator bool) int {
	if accelerator || episodes >= manyEpisodes || bytes >= wideMember && episodes >= leastBatch {
		return episodes
	}
	return 1
}

// EpisodeBatches lists batches to measure, which divide the episodes: 1, leastBatch times powers of four, and all.
func EpisodeBatches(episodes int) []int {
	all := []int{1}
	for n := leastBatch; n < episodes && episodes%n == 0; n *= 4 {
		all = append(all, n)
	}
	if episodes >= leastBatch {
		all = append(all, episodes)
	}
	return all
}

// DefaultUnroll returns how many steps of an episode an iteration of the loop takes by default. On an accelerator these
// are two: they share the loop's counter, and the second reads the state where the first has left it, so that nothing
// is copied. More than two change the speed little and take longer to compile. On a CPU, and for an odd number of
// steps, it is one step.
func DefaultUnroll(steps int, accelerator bool) int {
	if accelerator && steps%2 == 0 && steps > 2 {
		return 2
	}
	return 1
}
