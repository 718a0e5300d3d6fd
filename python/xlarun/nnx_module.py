"""The network of a member as a module of flax.nnx."""
try:
    import jax
    import jax.numpy as jnp
    from flax import nnx
except ModuleNotFoundError:
    raise ImportError("Member.nnx needs JAX and Flax: pip install jax flax") from None


class Module(nnx.Module):
    """See Member.nnx."""

    def __init__(self, member):
        self.apply, params = member.jax()
        for name, a in params.items():
            owner, (*parts, last) = self, name.split(".")
            for part in parts:
                if not hasattr(owner, part):
                    setattr(owner, part, nnx.Module())
                owner = getattr(owner, part)
            setattr(owner, last, nnx.Param(a))

    def __call__(self, observations, state=None):
        params = {".".join(path): a[...] for path, a in nnx.to_flat_state(nnx.state(self, nnx.Param))}
        return jax.vmap(self.apply, (None, 0, 0))(params, jnp.asarray(observations), state)
