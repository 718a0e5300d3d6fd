package plan

const (
	// wideMember is how many bytes a step reads for each member, from which a CPU gains by products of several episodes
	// with the same weights.
	wideMember = 1 << 15
	// wideBatch is the number of episodes with which such products are fastest.
	wideBatch = 8
	// leastBatch is the least number of episodes side by side. XLA's products of 2 or 3 rows take up to 13 times as
	// long on CPU as those of single rows.
	leastBatch = 4
)

// EpisodeBatch returns the number of a member's episodes that run side by side. bytes is what a step reads for each
// member. On an accelerator it is all of them: the launch of an operation costs more than its work. On a CPU it is 1,
// except for wide networks.
func EpisodeBatch(episodes, bytes int, accelerator bool) int {
	if accelerator {
		return episodes
	}
	if bytes < wideMember {
		return 1
	}
	for n := wideBatch; n >= leastBatch; n-- {
		if episodes%n == 0 {
			return n
		}
	}
	return 1
}

// EpisodeBatches lists batches to measure, the smallest first: one episode, and divisors that are powers of two.
func EpisodeBatches(episodes int) []int {
	all := []int{1}
	for n := leastBatch; n <= episodes && episodes%n == 0; n *= 2 {
		all = append(all, n)
	}
	return all
}
