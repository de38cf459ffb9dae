// Makes a call by the Go client, version 2. The host and the write key are the arguments.
package main

import (
	"log"
	"os"
	"strings"

	"github.com/segmentio/analytics-go"
)

// heard tells when the client has taken the call out of its queue: Close loses, about every second time, what is in there.
type heard chan bool

func (taken heard) Write(line []byte) (int, error) {
	if strings.Contains(string(line), "buffer (") {
		taken <- true
	}
	return len(line), nil
}

func main() {
	taken := make(heard, 1)
	client := analytics.New(os.Args[2])
	client.Endpoint = os.Args[1]
	client.Verbose = true
	log.SetOutput(taken)
	client.Track(&analytics.Track{
		Event:      "Imported",
		UserId:     "user-1",
		Properties: map[string]interface{}{"order": uint64(12345678901234567890)},
		Message:    analytics.Message{MessageId: "m-0", Timestamp: "2009-11-10T23:00:00.000Z"},
	})
	<-taken
	client.Close()
}
