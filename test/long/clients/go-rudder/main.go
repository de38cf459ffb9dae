// Makes a call by the Go client of RudderStack. The host and the write key are the arguments.
package main

import (
	"os"
	"time"

	"github.com/rudderlabs/analytics-go"
)

func main() {
	client, err := analytics.NewWithConfig(os.Args[2], os.Args[1], analytics.Config{})
	if err != nil {
		panic(err)
	}
	client.Enqueue(analytics.Track{
		MessageId:  "m-0",
		Event:      "Imported",
		UserId:     "user-1",
		Properties: analytics.NewProperties().Set("order", uint64(12345678901234567890)),
		Timestamp:  time.Date(2009, 11, 10, 23, 0, 0, 0, time.UTC),
	})
	client.Close()
}
