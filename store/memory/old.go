package memory

import (
	"context"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

func (s *Store) Open(ctx context.Context, key store.Key, owner string, p agui.Pause) error {
	_, err := s.Do(ctx, key, store.Ask{Owner: owner, Pause: p, Notices: store.NoticesOf(ctx)})
	return err
}

func (s *Store) Decide(ctx context.Context, key store.Key, pauseID string, list []agui.Decision) error {
	_, err := s.Do(ctx, key, store.Decide{PauseID: pauseID, Decisions: list, Notices: store.NoticesOf(ctx)})
	return err
}

func (s *Store) Claim(ctx context.Context, key store.Key, pauseID, token, digest string, lease time.Duration) error {
	_, err := s.Do(ctx, key, store.Claim{PauseID: pauseID, Token: token, Digest: digest, Lease: lease, Notices: store.NoticesOf(ctx)})
	return err
}

func (s *Store) Renew(ctx context.Context, key store.Key, token string, lease time.Duration) error {
	_, err := s.Do(ctx, key, store.Renew{Token: token, Lease: lease})
	return err
}

func (s *Store) Finish(ctx context.Context, key store.Key, token string, r store.Result, next *agui.Pause) error {
	_, err := s.Do(ctx, key, store.Finish{Token: token, Result: r, Next: next, Notices: store.NoticesOf(ctx)})
	return err
}

func (s *Store) Release(ctx context.Context, key store.Key, token string) error {
	_, err := s.Do(ctx, key, store.Release{Token: token, Notices: store.NoticesOf(ctx)})
	return err
}

func (s *Store) Close(ctx context.Context, key store.Key, pauseID string, r store.Result) error {
	_, err := s.Do(ctx, key, store.Close{PauseID: pauseID, Result: r, Notices: store.NoticesOf(ctx)})
	return err
}

func (s *Store) Occupy(ctx context.Context, key store.Key, token string, lease time.Duration) error {
	_, err := s.Do(ctx, key, store.Occupy{Token: token, Lease: lease})
	return err
}

func (s *Store) Contest(ctx context.Context, key store.Key, pauseID string) error {
	_, err := s.Do(ctx, key, store.Contest{PauseID: pauseID})
	return err
}

func (s *Store) See(ctx context.Context, key store.Key, pauseID string) error {
	_, err := s.Do(ctx, key, store.See{PauseID: pauseID})
	return err
}

func (s *Store) Remember(ctx context.Context, key store.Key, n store.Note, most int) error {
	_, err := s.Do(ctx, key, store.Remember{Note: n, Most: most})
	return err
}

func (s *Store) Take(ctx context.Context, key store.Key, hold time.Duration) (store.Taken, error) {
	done, err := s.Do(ctx, key, store.Take{Hold: hold})
	if err != nil {
		return store.Taken{}, err
	}
	return store.Taken{Notices: done.Notices, Tries: done.Tries, Now: done.Now}, nil
}

func (s *Store) Sent(ctx context.Context, key store.Key, ids []string, wait time.Duration, failed bool) error {
	_, err := s.Do(ctx, key, store.Sent{IDs: ids, Wait: wait, Failed: failed})
	return err
}
