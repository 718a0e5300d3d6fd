package strategy

// Bounds that keep states finite and positive.
const (
	// maxValue is the largest parameter of members that grow by differences of others, and the largest element of a
	// gradient: their differences and squares are finite.
	maxValue float32 = 1e18
	// maxDeviation is the largest standard deviation, and the largest element of a covariance, a matrix or a path.
	maxDeviation float32 = 1e8
	// minVariance is added to variances in each generation, and is the least eigenvalue and the least step size.
	minVariance float32 = 1e-8
	// minDivisor is the smallest normal float32. Equal fitness has this deviation at least: 0 over it is 0.
	minDivisor float32 = 0x1p-126
	// maxExponent is a number whose exponential is far from the largest float32.
	maxExponent float32 = 60
)
