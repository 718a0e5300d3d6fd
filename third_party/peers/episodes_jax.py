"""gymnax CartPole, vmap(population) of vmap(episodes) of scan(steps), the way its users write it.
usage: episodes_jax.py POP STEPS HIDDEN EPISODES"""
import sys
from serve import serve_jax
import jax, jax.numpy as jnp
import gymnax
POP=int(sys.argv[1]); T=int(sys.argv[2]); H=int(sys.argv[3]); E=int(sys.argv[4])
env, env_params = gymnax.make("CartPole-v1")
def policy(p,x):
    x=jnp.tanh(x@p['w1']+p['b1']); x=jnp.tanh(x@p['w2']+p['b2']); return jnp.argmax(x@p['w3']+p['b3'])
def rollout(p,key):
    k0,key=jax.random.split(key)
    obs,st=env.reset(k0,env_params)
    def step(c,_):
        obs,st,key,ret,alive=c
        key,ks=jax.random.split(key)
        a=policy(p,obs)
        obs,st,r,d,tr,_=env.step(ks,st,a,env_params)
        ret=ret+r*alive; alive=alive*(1-(d|tr).astype(jnp.float32))
        return (obs,st,key,ret,alive),None
    (o,s,k,ret,al),_=jax.lax.scan(step,(obs,st,key,jnp.float32(0),jnp.float32(1)),None,length=T)
    return ret
def init(key):
    ks=jax.random.split(key,3)
    n=lambda k,a,b: jax.random.normal(k,(a,b))/jnp.sqrt(a)
    return dict(w1=n(ks[0],4,H),b1=jnp.zeros(H),w2=n(ks[1],H,H),b2=jnp.zeros(H),w3=n(ks[2],H,2),b3=jnp.zeros(2))
def member(p,key):
    return jax.vmap(lambda k: rollout(p,k))(jax.random.split(key,E)).mean()
ps=jax.vmap(init)(jax.random.split(jax.random.key(0),POP))
ks=jax.random.split(jax.random.key(1),POP)
serve_jax(lambda p,k: jnp.mean(jax.vmap(member)(p,k)),(ps,ks))
