// Command go is what a good engineer writes by hand instead of Fairlead: a server that keeps each call in SQLite before it
// answers, and 64 senders. What comes while a commit runs shares the next one, and outcomes are written with the next
// append or a quarter of a second later. Nothing else is around it: no validation, no routing, no dedup, no retry.
//
// Usage: go <data folder> <url of the receiver> [<file of the authority that the receiver's certificate is from>]
package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	_ "github.com/mattn/go-sqlite3"
)

const (
	senders    = 64
	page       = 512
	outcomeLag = 250 * time.Millisecond
	// Outcomes that are written at once, whether or not anything is appended.
	mostOutcomes = 512
)

var secret = []byte("bench-secret")

type row struct {
	id   int64
	body []byte
}

type call struct {
	bodies    [][]byte
	committed chan struct{}
}

type outbox struct {
	calls    chan *call
	outcomes chan int64
	// Rows in memory that wait for a sender. The others are read from the file when their turn comes.
	queue  chan row
	behind chan struct{}

	mutex        sync.Mutex
	lastID       int64
	lastQueuedID int64
}

func main() {
	folder, receiver := os.Args[1], os.Args[2]
	db := must(sql.Open("sqlite3", "file:"+folder+"/go.db?_journal_mode=WAL&_synchronous=FULL"))
	must(db.Exec("CREATE TABLE events (id INTEGER PRIMARY KEY, body BLOB NOT NULL, done INTEGER NOT NULL DEFAULT 0) STRICT"))
	box := &outbox{
		calls:    make(chan *call, 1024),
		outcomes: make(chan int64, page),
		queue:    make(chan row, page),
		behind:   make(chan struct{}, 1),
	}
	go box.write(must(db.Conn(context.Background())))
	go box.read(must(db.Conn(context.Background())))
	client := newClient(os.Args[3:])
	for range senders {
		go box.send(client, receiver)
	}
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	fmt.Printf("ingest http://%s\n", listener.Addr())
	log.Fatal(http.Serve(listener, http.HandlerFunc(box.take)))
}

func (box *outbox) take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var parsed struct{ Batch []json.RawMessage }
	if err := json.Unmarshal(body, &parsed); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	bodies := [][]byte{body}
	if parsed.Batch != nil {
		bodies = bodies[:0]
		for _, event := range parsed.Batch {
			bodies = append(bodies, event)
		}
	}
	c := &call{bodies, make(chan struct{})}
	box.calls <- c
	<-c.committed
	io.WriteString(w, `{"success":true}`)
}

// The only writer. A transaction takes whatever waits when it begins.
func (box *outbox) write(conn *sql.Conn) {
	begin := prepare(conn, "BEGIN IMMEDIATE")
	commit := prepare(conn, "COMMIT")
	insert := prepare(conn, "INSERT INTO events (id, body) VALUES (?, ?)")
	markDone := prepare(conn, "UPDATE events SET done = 1 WHERE id = ?")
	var group []*call
	var done []int64
	var due <-chan time.Time
	for {
		isDue := false
		select {
		case c := <-box.calls:
			group = append(group, c)
		case id := <-box.outcomes:
			done = append(done, id)
		case <-due:
			isDue = true
		}
		group, done = drain(box.calls, group), drain(box.outcomes, done)
		if len(group) == 0 && len(done) < mostOutcomes && !isDue {
			if due == nil {
				due = time.After(outcomeLag)
			}
			continue
		}
		must(begin.Exec())
		var rows []row
		for _, c := range group {
			for _, body := range c.bodies {
				rows = append(rows, row{box.lastID + int64(len(rows)) + 1, body})
				must(insert.Exec(rows[len(rows)-1].id, body))
			}
		}
		for _, id := range done {
			must(markDone.Exec(id))
		}
		must(commit.Exec())
		for _, c := range group {
			close(c.committed)
		}
		box.enqueue(rows)
		group, done, due = group[:0], done[:0], nil
	}
}

// Hands over what was just committed, unless older rows are still to be read.
func (box *outbox) enqueue(rows []row) {
	box.mutex.Lock()
	defer box.mutex.Unlock()
	isNext := box.lastQueuedID == box.lastID
	box.lastID += int64(len(rows))
	if isNext && len(rows) <= cap(box.queue)-len(box.queue) {
		for _, r := range rows {
			box.queue <- r
		}
		box.lastQueuedID = box.lastID
		return
	}
	wake(box.behind)
}

// Reads what was not handed over, a page at a time.
func (box *outbox) read(conn *sql.Conn) {
	readPage := prepare(conn, "SELECT id, body FROM events WHERE id > ? ORDER BY id LIMIT ?")
	for range box.behind {
		for box.isBehind() {
			var some []row
			rows := must(readPage.Query(box.lastQueuedID, page))
			for rows.Next() {
				var r row
				check(rows.Scan(&r.id, &r.body))
				some = append(some, r)
			}
			check(rows.Err())
			for _, r := range some {
				box.queue <- r
			}
			box.mutex.Lock()
			box.lastQueuedID = some[len(some)-1].id
			box.mutex.Unlock()
		}
	}
}

func (box *outbox) isBehind() bool {
	box.mutex.Lock()
	defer box.mutex.Unlock()
	return box.lastQueuedID < box.lastID
}

// A failure ends the process: then there is nothing to measure.
func (box *outbox) send(client *http.Client, receiver string) {
	for r := range box.queue {
		mac := hmac.New(sha1.New, secret)
		mac.Write(r.body)
		request := must(http.NewRequest(http.MethodPost, receiver, bytes.NewReader(r.body)))
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("User-Agent", "Peer/1.0")
		request.Header.Set("X-Signature", hex.EncodeToString(mac.Sum(nil)))
		response := must(client.Do(request))
		io.Copy(io.Discard, response.Body)
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			log.Fatalf("the receiver answered %d", response.StatusCode)
		}
		box.outcomes <- r.id
	}
}

func newClient(authority []string) *http.Client {
	transport := &http.Transport{MaxIdleConns: senders, MaxIdleConnsPerHost: senders}
	for _, file := range authority {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(must(os.ReadFile(file)))
		transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
	return &http.Client{Transport: transport, Timeout: 5 * time.Second}
}

func prepare(conn *sql.Conn, query string) *sql.Stmt {
	return must(conn.PrepareContext(context.Background(), query))
}

func drain[T any](from chan T, into []T) []T {
	for {
		select {
		case one := <-from:
			into = append(into, one)
		default:
			return into
		}
	}
}

func wake(sleeper chan struct{}) {
	select {
	case sleeper <- struct{}{}:
	default:
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func must[T any](value T, err error) T {
	check(err)
	return value
}
