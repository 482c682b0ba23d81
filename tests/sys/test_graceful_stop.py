"""SIGTERM under load: nothing that was answered is lost, and it ends with 0."""
import signal
import time

import checker
import load
from hk import check, dump, envelope, request, same


def test_under_load(t):
    srv, ledger = t.server(), checker.Ledger()
    for n in range(3):
        work = load.Load(srv, ledger, seed=n).start() if n == 0 else work.start()
        time.sleep(0.5)
        srv.proc.send_signal(signal.SIGTERM)
        same(srv.ended(), 0, "exit status")
        work.stop()
        srv.proc = None
        srv.start()
        faults = checker.check_log(ledger, srv.client())
        check(not faults, checker.show(faults))
    check(len(ledger.answered) > 100, "there was load", len(ledger.answered))


def test_what_was_sent_is_answered(t):
    """A request that is there when SIGTERM comes gets its answer."""
    srv = t.server()
    raws = [srv.raw() for _ in range(20)]
    events = [envelope() for _ in raws]
    head = {"Authorization": "Bearer " + srv.key(), "Content-Type": "application/json"}
    for r in raws:  # half of it, so that each is surely accepted
        r.send(b"POST /v1/events HTTP/1.1\r\n")
    time.sleep(0.2)
    srv.clients = []
    srv.proc.send_signal(signal.SIGTERM)
    answered = []
    for r, ev in zip(raws, events):
        try:
            r.send(request("POST", "/v1/events", head, dump(ev)).split(b"\r\n", 1)[1])
            if r.answer().status == 202:
                answered.append(ev["eventId"])
        except OSError:
            pass
    same(srv.ended(), 0, "exit status")
    srv.proc = None
    srv.start()
    there = {e["eventId"] for e in srv.client().events()}
    same(set(answered) - there, set(), "answered and not there")


def test_second_signal_and_idle_connections(t):
    """Idle keep-alive connections do not hold it up; SIGINT is a stop too."""
    srv = t.server()
    raws = [srv.raw() for _ in range(50)]
    for r in raws[:25]:
        r.send(request("GET", "/healthz", {}))
        same(r.answer().status, 200, "status")
    srv.clients = []
    begin = time.monotonic()
    srv.proc.send_signal(signal.SIGINT)
    same(srv.ended(), 0, "exit status")
    check(time.monotonic() - begin < 6, "soon", time.monotonic() - begin)
    for r in raws:
        r.close()
    srv.proc = None


def test_not_ready_while_stopping(t):
    """No new connections once it stops."""
    srv = t.server()
    port = srv.port
    srv.stop()
    import socket
    try:
        socket.create_connection(("127.0.0.1", port), 2).close()
        check(False, "the port is still open")
    except OSError:
        pass


def test_data_folder_is_free_again(t):
    srv = t.server()
    second = t.server(start=False, url=srv.url, folder=t.path("second"))
    second.data = srv.data
    second.spawn()
    code = second.ended()
    check(code not in (0, None), "a second server on the same data folder is refused", code)
    check(len(second.tail()) > 0, "it says why")
    second.proc = None
    srv.stop()
    second.start()
