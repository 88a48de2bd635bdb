package importer

// An Error is a status of libpcp_import (PMI_ERR_*). Errors that it shares with
// the rest of PCP are a pcp.Error: pcp.ErrName for an unknown metric,
// pcp.ErrInDom, pcp.ErrInst, pcp.ErrConv for a value that is not a number.
type Error int32

// Errors of this package.
const (
	ErrDupMetricName    Error = -20001 // PMI_ERR_DUPMETRICNAME
	ErrDupMetricID      Error = -20002 // PMI_ERR_DUPMETRICID
	ErrDupInstName      Error = -20003 // PMI_ERR_DUPINSTNAME
	ErrDupInstID        Error = -20004 // PMI_ERR_DUPINSTID
	ErrInstNotNull      Error = -20005 // PMI_ERR_INSTNOTNULL
	ErrInstNull         Error = -20006 // PMI_ERR_INSTNULL
	ErrBadHandle        Error = -20007 // PMI_ERR_BADHANDLE
	ErrDupValue         Error = -20008 // PMI_ERR_DUPVALUE
	ErrBadType          Error = -20009 // PMI_ERR_BADTYPE
	ErrBadSem           Error = -20010 // PMI_ERR_BADSEM
	ErrNoData           Error = -20011 // PMI_ERR_NODATA
	ErrBadMetricName    Error = -20012 // PMI_ERR_BADMETRICNAME
	ErrBadTimestamp     Error = -20013 // PMI_ERR_BADTIMESTAMP
	ErrBadTextType      Error = -20014 // PMI_ERR_BADTEXTTYPE
	ErrBadTextClass     Error = -20015 // PMI_ERR_BADTEXTCLASS
	ErrBadTextID        Error = -20016 // PMI_ERR_BADTEXTID
	ErrEmptyTextContent Error = -20017 // PMI_ERR_EMPTYTEXTCONTENT
	ErrDupText          Error = -20018 // PMI_ERR_DUPTEXT
	ErrBadLabelType     Error = -20019 // PMI_ERR_BADLABELTYPE
	ErrBadLabelID       Error = -20020 // PMI_ERR_BADLABELID
	ErrBadLabelInstance Error = -20021 // PMI_ERR_BADLABELINSTANCE
	ErrEmptyLabelName   Error = -20022 // PMI_ERR_EMPTYLABELNAME
	ErrEmptyLabelValue  Error = -20023 // PMI_ERR_EMPTYLABELVALUE
	ErrAddLabel         Error = -20024 // PMI_ERR_ADDLABELERROR
	ErrBadVersion       Error = -20025 // PMI_ERR_BADVERSION
)

// texts are the results of pmiErrStr(3), from -20001 down.
var texts = [...]string{
	"Metric name already defined",
	"Metric pmID already defined",
	"External instance name already defined",
	"Internal instance identifer already defined",
	"Null instance expected for a singular metric",
	"Null instance not allowed for a non-singular metric",
	"Illegal handle",
	"Value already assigned for this metric-instance",
	"Illegal metric type",
	"Illegal metric semantics",
	"No data to output",
	"Illegal metric name",
	"Illegal result timestamp",
	"Illegal text type",
	"Illegal text class",
	"Illegal text identifier",
	"Text is empty",
	"Help text already exists",
	"Illegal label type",
	"Illegal label identifier",
	"Illegal label instance",
	"Label name is empty",
	"Label value is empty",
	"Error adding label",
	"Illegal archive version",
}

// Error returns the text of pmiErrStr(3).
func (e Error) Error() string {
	if i := int(ErrDupMetricName) - int(e); i >= 0 && i < len(texts) {
		return texts[i]
	}
	return "Unknown error"
}
