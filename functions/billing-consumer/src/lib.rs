//! Ikkai's billing consumer: one charge for each billing.charge job, through a Stripe-compatible provider.
