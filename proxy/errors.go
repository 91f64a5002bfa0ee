package proxy

import (
	"context"
	"errors"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/proxy/internal/ledger"
)

var (
	errDraining = ledger.ErrDraining
	errIdle     = errors.New("proxy: upstream idle")
	errAlone    = errors.New("proxy: the run did not end in time after its client had left")
	errSwitched = errors.New("proxy: the backend switched protocols on a run")
)

func storeDown() contract.Ruling {
	return refuse(agui.StoreUnavailable, textStoreDown)
}

// refuse returns a ruling that refuses a request with an error.
func refuse(code agui.Code, format string, args ...any) contract.Ruling {
	return contract.Ruling{Do: contract.Refuse, Refusal: agui.Errorf(code, format, args...)}
}

func internalError() *agui.RunError {
	return agui.Errorf(agui.InternalError, textInternal)
}

// fault returns the error for the client if an exchange broke because Holdpoint drains or the
// backend was idle. It returns nil if there was another reason.
func fault(ctx context.Context, err error) *agui.RunError {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errDraining), errors.Is(err, errDraining):
		return agui.Errorf(agui.ProxyDraining, textDraining)
	case errors.Is(cause, errIdle), errors.Is(err, errIdle):
		return agui.Errorf(agui.UpstreamIdle, textIdle)
	case errors.Is(cause, errAlone), errors.Is(err, errAlone):
		return agui.Errorf(agui.UpstreamIdle, textAlone)
	}
	return nil
}
