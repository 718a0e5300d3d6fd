"""A study whose workers are tasks of Ray: python ray.py, in a folder with study.toml and the file token."""
import subprocess

import ray


@ray.remote(num_cpus=8, max_retries=-1, retry_exceptions=True)
def work(at):
    status = subprocess.run(["xlarun", "work", at, "--token-file", "token", "--workers", "8"]).returncode
    if status in (3, 75):
        raise RuntimeError(status)  # Ray tries again
    return status


ray.init()
at = f"nats://{ray.util.get_node_ip_address()}:4222"
serve = subprocess.Popen(["xlarun", "serve", "study.toml", "--listen", "0.0.0.0:4222", "--token-file", "token",
                          "--no-workers", "--linger", "1m"])
spread = work.options(scheduling_strategy="SPREAD")
tasks = [spread.remote(at) for _ in range(int(ray.cluster_resources()["CPU"]) // 8)]
print(serve.wait(), ray.get(tasks))
