"""The network of a member as a function of JAX."""
try:
    import jax
    import jax.numpy as jnp
except ModuleNotFoundError:
    raise ImportError("Member.jax needs JAX: pip install jax") from None


def function(member):
    """See Member.jax."""
    params, kept = ({name: jnp.asarray(a) for name, a in arrays.items()} for arrays in member._parameters())
    space = member.observation_space

    def apply(params, observation, state=None):
        network = member.network.of(params, jnp)
        if space["type"] == "Discrete":
            x = jax.nn.one_hot(observation, space["n"])
        else:
            x = jnp.asarray(observation, jnp.float32).reshape(space["shape"])
        x = member._normalized(x, kept)[None]
        outputs, state = network.step(x, network.start(1) if state is None else network.batch_of_one(state), None)
        return outputs[0], network.member_of_one(state)

    return apply, params
