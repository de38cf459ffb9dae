"""Makes calls by a client library in Python: the module, the host and the write key, and what to do, are the arguments."""
import datetime
import importlib
import sys

module, host, write_key, act = sys.argv[1:]
analytics = importlib.import_module(module)
analytics.write_key = write_key
analytics.host = analytics.dataPlaneUrl = host
analytics.on_error = lambda error, items: print("lost", len(items), error, flush=True)

if act == "exact":
    at = datetime.datetime(2009, 11, 10, 23, tzinfo=datetime.timezone.utc)
    order = {"order": 12345678901234567890}
    analytics.track("user-1", "Imported", order, timestamp=at, message_id="m-0")
if act == "large":
    for nth in range(100):
        analytics.track("user-1", "Large", {"text": "x" * 20_000}, message_id="m-%d" % nth)
if act == "nan":
    analytics.track("user-1", "Scored", {"score": float("nan")}, message_id="m-0")
analytics.flush()
