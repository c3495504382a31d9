"""Access to a service under test: a token that its owner makes on the command line."""
import json
import subprocess


def token(products, store, environment=None, scope="admin"):
    done = subprocess.run([f"{products}/waterh-tracker", "token", "new", "--scope", scope, "--json", "--store", str(store)],
                          check=True, capture_output=True, text=True, env=environment, timeout=60, stdin=subprocess.DEVNULL)
    return json.loads(done.stdout)["token"]


def header(products, store, environment=None, scope="admin"):
    return {"Authorization": f"Bearer {token(products, store, environment, scope)}"}
