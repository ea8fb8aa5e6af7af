"""Records the reference incident from running services (`receipts demo --fresh`).

    plan       who does what when, in the incident's time; seeded, so the same visitors come every time
    services   the shop's services as processes on loopback, from checkouts of what was deployed
    traffic    the plan carried out against them, as fast as they answer
    stretch    what they wrote, moved from recording time to the incident's time
    folder     the case folder around it: alert, deploys, flags, configuration, tests
    run        all of it in order

Nothing here knows what is wrong with the shop.
"""
