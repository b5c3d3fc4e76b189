# Creates contacts with the client, many at a time, and follows the feed of events up to the last of them. It says which contacts
# were created and which arrived.
import os
import threading
from concurrent.futures import ThreadPoolExecutor

from contactbase import Contactbase

client = Contactbase(url=os.environ["BASE"], key=os.environ["KEY"])
count = int(os.environ["COUNT"])
printing = threading.Lock()


def tell(*words):
    with printing:
        print(*words, flush=True)


def create(number):
    created = client.contacts.create({"name": f"person {number}"})
    tell("created", created["id"], created["name"])


def follow():
    feed = client.events.follow("")
    for _ in range(count):
        contact = next(feed)["data"]
        tell("arrived", contact["id"], contact["name"])


with ThreadPoolExecutor(17) as pool:
    followed = pool.submit(follow)
    list(pool.map(create, range(count)))
    followed.result()
