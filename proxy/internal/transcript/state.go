package transcript

import "holdpoint/internal/agui"

// holdsState prepares for a new state of n bytes, and reports whether it fits into the limit. It
// drops the patches of the old state. If the new state does not fit, it drops the old state too.
func (t *Transcript) holdsState(n int) bool {
	t.patches.drop()
	if t.stateLost = n > t.limit; t.stateLost {
		t.state = nil
	}
	return !t.stateLost
}

// patchState keeps an RFC 6902 patch. The patches are applied when the state is needed, or when
// they are larger than the state.
func (t *Transcript) patchState(patch string) {
	if t.stateLost {
		return
	}
	t.patches.add([]byte(patch))
	if t.patches.size > len(t.state)+foldBytes {
		t.applyPatches()
	}
}

// applyPatches applies the patches to the state. If a patch does not apply, for example because
// there is no state, the state is not known from then on.
func (t *Transcript) applyPatches() {
	if len(t.patches.slabs) == 0 {
		return
	}
	state, err := applyPatches(t.state, t.patches.size, t.limit, func(show func(string)) {
		t.patches.each(func(patch []byte) { show(agui.View(patch).Raw) })
	})
	t.patches.drop()
	if t.state = state; err != nil {
		t.ForgetState()
	}
}

// ForgetState drops the state, because it is not known which state the client has now.
func (t *Transcript) ForgetState() {
	t.patches.drop()
	t.state, t.stateLost = nil, true
}
