package sqlmmv_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/go-pcp/pcp/mmv"
	"github.com/go-pcp/pcp/mmv/bridge/sqlmmv"
)

func Example() {
	dir, err := os.MkdirTemp("", "mmv") // a real program does not set Options.Dir
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	reg, err := mmv.New("shop", mmv.Options{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer reg.Close()

	db := sql.OpenDB(nowhere{}) // or sql.Open
	defer db.Close()
	db.SetMaxOpenConns(10)
	defer sqlmmv.Export(reg, db, sqlmmv.Options{Prefix: "db"}).Stop()

	fmt.Println(reg.Lookup("db.open.max"))
	// Output: 10
}

// nowhere replaces a database.
type nowhere struct{}

func (nowhere) Connect(context.Context) (driver.Conn, error) { return nil, errors.ErrUnsupported }
func (nowhere) Driver() driver.Driver                        { return nil }
