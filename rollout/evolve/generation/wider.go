package generation

import ()

// Wider returns the state of a program whose padded genomes have less capacity, from, with the capacity of this
// program. The state is on the host, and nothing else of it changes.
func (p *Program) Wider(s State, from *Program) (State, error) {
	pad := p.policy().Traits().Wider
	wide, err := onHost(func() any {
		s.Strategy = p.Strategy.Wider(s.Strategy, from.Strategy.Member)
		s.Best.Genome, s.Hall = pad(s.Best.Genome), s.Hall.of(pad)
		return s
	})
	if err != nil {
		return State{}, err
	}
	return wide.(State), nil
}
