// Makes a call by the Go client, version 2. The host and the write key are the arguments.
package main

import (
	"os"

	"github.com/segmentio/analytics-go"
)

func main() {
	client := analytics.New(os.Args[2])
	client.Endpoint = os.Args[1]
	client.Track(&analytics.Track{
		Event:      "Imported",
		UserId:     "user-1",
		Properties: map[string]interface{}{"order": uint64(12345678901234567890)},
		Message:    analytics.Message{MessageId: "m-0", Timestamp: "2009-11-10T23:00:00.000Z"},
	})
	client.Close()
}
