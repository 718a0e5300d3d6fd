package bench

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"time"

	"xlarun/cmd/internal/peers"
	"xlarun/cmd/xlarun/console"
)

// newPython finds a Python for the peers, or makes an environment with their packages in the user's cache folder.
func newPython(ctx context.Context, h *host, path, requirements string) (*peers.Python, error) {
	return peers.Open(ctx, h.Out, cmp.Or(path, h.Getenv(peers.EnvPython)), requirements)
}

// requirementsOf returns the packages that peers need on the devices of a backend.
func requirementsOf(backend string) string {
	switch backend {
	case "cuda":
		return peers.CUDARequirements
	case "tpu":
		return peers.TPURequirements
	}
	return peers.RunRequirements
}

// jaxPlatform returns JAX's name of the devices of a backend: both sides run on the same ones.
func jaxPlatform(backend string) string {
	if backend == "" || backend == console.Reference {
		return "cpu"
	}
	return backend
}

// startScript starts a peer's script that speaks the protocol, on the devices of a backend. cache is the folder where
// JAX keeps compiled programs, "" for none. In the root of a checkout it imports the Python package from there.
func startScript(ctx context.Context, p *peers.Python, backend, script, cache string, limit time.Duration,
	args ...string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := p.Command(ctx, script, args...)
	cmd.Env = append(cmd.Env, "JAX_PLATFORMS="+jaxPlatform(backend), "XLARUN="+self)
	if folder, err := filepath.Abs("python"); err == nil && console.Exists(filepath.Join(folder, "xlarun")) {
		cmd.Env = append(cmd.Env, "PYTHONPATH="+folder+":"+os.Getenv("PYTHONPATH"))
	}
	if cache != "" {
		cmd.Env = append(cmd.Env, "JAX_COMPILATION_CACHE_DIR="+filepath.Join(cache, "jax"),
			"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0", "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES=-1")
	}
	return startProcess(cmd, "the peer "+script, limit)
}

// startPeer starts a script that answers questions, and waits until it is ready. end ends it.
func startPeer(ctx context.Context, h *host, python, script string, limit time.Duration) (p *process, end func(),
	err error) {
	scripts, err := newPython(ctx, h, python, peers.RunRequirements)
	if err != nil {
		return nil, nil, err
	}
	if p, err = startScript(ctx, scripts, "cpu", script, "", limit); err == nil {
		err = p.read(&ready{})
	}
	if err != nil {
		scripts.Close()
		return nil, nil, err
	}
	return p, func() { p.close(); scripts.Close() }, nil
}
