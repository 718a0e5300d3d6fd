"""The network of a member as a module of PyTorch."""
try:
    import torch
except ModuleNotFoundError:
    raise ImportError("Member.torch needs PyTorch: pip install torch") from None


class Module(torch.nn.Module):
    """See Member.torch."""

    def __init__(self, member):
        super().__init__()
        self.member = member
        params, kept = member._parameters()
        for name, a in params.items():
            owner, last = self._owner(name)
            owner.register_parameter(last, torch.nn.Parameter(torch.tensor(a)))
        for name, a in kept.items():
            owner, last = self._owner(name)
            owner.register_buffer(last, torch.tensor(a))

    def _owner(self, name):
        """The module within this one that has an array: names of PyTorch's parameters have no dots."""
        owner, (*parts, last) = self, name.split(".")
        for part in parts:
            if part not in owner._modules:
                owner.add_module(part, torch.nn.Module())
            owner = owner._modules[part]
        return owner, last

    def forward(self, observations, state=None):
        arrays = {**dict(self.named_parameters()), **dict(self.named_buffers())}
        network, space = self.member.network.of(arrays, torch), self.member.observation_space
        like = next(self.parameters())
        if space["type"] == "Discrete":
            x = torch.nn.functional.one_hot(torch.as_tensor(observations, device=like.device).long(), space["n"])
        else:
            x = torch.as_tensor(observations, device=like.device).reshape(-1, *space["shape"])
        x = self.member._normalized(x.to(like.dtype), arrays)
        return network.step(x, network.start(len(x)) if state is None else state, None)
