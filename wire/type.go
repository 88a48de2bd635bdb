package wire

import "strconv"

// String names t as the C library's diagnostics do: FETCH, DESC_REQ, ...
func (t Type) String() string {
	switch t {
	case TypeError:
		return "ERROR"
	case TypeResult:
		return "RESULT"
	case TypeProfile:
		return "PROFILE"
	case TypeFetch:
		return "FETCH"
	case TypeDescReq:
		return "DESC_REQ"
	case TypeDesc:
		return "DESC"
	case TypeInstanceReq:
		return "INSTANCE_REQ"
	case TypeInstance:
		return "INSTANCE"
	case TypeTextReq:
		return "TEXT_REQ"
	case TypeText:
		return "TEXT"
	case TypeControlReq:
		return "CONTROL_REQ"
	case TypeCreds:
		return "CREDS"
	case TypePMNSIDs:
		return "PMNS_IDS"
	case TypePMNSNames:
		return "PMNS_NAMES"
	case TypePMNSChild:
		return "PMNS_CHILD"
	case TypePMNSTraverse:
		return "PMNS_TRAVERSE"
	case TypeAttr:
		return "ATTR"
	case TypeLabelReq:
		return "LABEL_REQ"
	case TypeLabel:
		return "LABEL"
	case TypeHighResFetch:
		return "HIGHRES_FETCH"
	case TypeHighResResult:
		return "HIGHRES_RESULT"
	case TypeDescIDs:
		return "DESC_IDS"
	case TypeDescs:
		return "DESCS"
	case TypeLogControl:
		return "LOG_CONTROL"
	case TypeLogStatusV2:
		return "LOG_STATUS_V2"
	case TypeLogRequest:
		return "LOG_REQUEST"
	case TypeLogStatus:
		return "LOG_STATUS"
	}
	return "TYPE-" + strconv.Itoa(int(int32(t))) + "?"
}

// newPDU returns an empty PDU of type t, or nil if t is not in use. In a Result
// or a Fetch t determines HighRes.
func newPDU(t Type) PDU {
	switch t {
	case TypeError:
		return new(Error)
	case TypeResult, TypeHighResResult:
		return &Result{HighRes: t == TypeHighResResult}
	case TypeProfile:
		return new(Profile)
	case TypeFetch, TypeHighResFetch:
		return &Fetch{HighRes: t == TypeHighResFetch}
	case TypeDescReq:
		return new(DescReq)
	case TypeDesc:
		return new(Desc)
	case TypeInstanceReq:
		return new(InstanceReq)
	case TypeInstance:
		return new(Instance)
	case TypeTextReq:
		return new(TextReq)
	case TypeText:
		return new(Text)
	case TypeCreds:
		return new(Creds)
	case TypePMNSIDs:
		return new(PMNSIDs)
	case TypePMNSNames:
		return new(PMNSNames)
	case TypePMNSChild:
		return new(PMNSChild)
	case TypePMNSTraverse:
		return new(PMNSTraverse)
	case TypeAttr:
		return new(Attr)
	case TypeLabelReq:
		return new(LabelReq)
	case TypeLabel:
		return new(Labels)
	case TypeDescIDs:
		return new(DescIDs)
	case TypeDescs:
		return new(Descs)
	case TypeLogControl:
		return new(LogControl)
	case TypeLogStatusV2, TypeLogStatus:
		return &LogStatus{V2: t == TypeLogStatusV2}
	case TypeLogRequest:
		return new(LogRequest)
	}
	return nil
}

// Type returns TypeError.
func (*Error) Type() Type { return TypeError }

// Type returns TypeProfile.
func (*Profile) Type() Type { return TypeProfile }

// Type returns TypeFetch or TypeHighResFetch.
func (p *Fetch) Type() Type {
	if p.HighRes {
		return TypeHighResFetch
	}
	return TypeFetch
}

// Type returns TypeResult or TypeHighResResult.
func (p *Result) Type() Type {
	if p.HighRes {
		return TypeHighResResult
	}
	return TypeResult
}

// Type returns TypeDescReq.
func (*DescReq) Type() Type { return TypeDescReq }

// Type returns TypeDesc.
func (*Desc) Type() Type { return TypeDesc }

// Type returns TypeDescIDs.
func (*DescIDs) Type() Type { return TypeDescIDs }

// Type returns TypeDescs.
func (*Descs) Type() Type { return TypeDescs }

// Type returns TypeInstanceReq.
func (*InstanceReq) Type() Type { return TypeInstanceReq }

// Type returns TypeInstance.
func (*Instance) Type() Type { return TypeInstance }

// Type returns TypeTextReq.
func (*TextReq) Type() Type { return TypeTextReq }

// Type returns TypeText.
func (*Text) Type() Type { return TypeText }

// Type returns TypeCreds.
func (*Creds) Type() Type { return TypeCreds }

// Type returns TypePMNSIDs.
func (*PMNSIDs) Type() Type { return TypePMNSIDs }

// Type returns TypePMNSNames.
func (*PMNSNames) Type() Type { return TypePMNSNames }

// Type returns TypePMNSChild.
func (*PMNSChild) Type() Type { return TypePMNSChild }

// Type returns TypePMNSTraverse.
func (*PMNSTraverse) Type() Type { return TypePMNSTraverse }

// Type returns TypeAttr.
func (*Attr) Type() Type { return TypeAttr }

// Type returns TypeLabelReq.
func (*LabelReq) Type() Type { return TypeLabelReq }

// Type returns TypeLabel.
func (*Labels) Type() Type { return TypeLabel }

// Type returns TypeLogControl.
func (*LogControl) Type() Type { return TypeLogControl }

// Type returns TypeLogStatus or TypeLogStatusV2.
func (p *LogStatus) Type() Type {
	if p.V2 {
		return TypeLogStatusV2
	}
	return TypeLogStatus
}

// Type returns TypeLogRequest.
func (*LogRequest) Type() Type { return TypeLogRequest }
