"""Records between processes, over shared memory: one writer and one reader a lane, any number of lanes a port.

    writer process                                             reader process
    message + tree of arrays
      │ packing: arrays → tensors, tree → msgpack (wire)
      ▼
    channel.Sender ► LaneWriter ══► ring in a memfd ══► LaneReader ◄ Port ◄ channel.Receiver
                        claim          (layout)            take         │
         │              publish                                         ▼ wire, by type; packing: tree with arrays
         └─ placing: what is large ► Loan ══► slab in a memfd ══► Lease ┘

`layout` is what two processes agree on, byte for byte; `memory` is where it lies; `framing` cuts a message into records
and puts it together; `lane`, `writer`, `reader` and `port` move records; `bell` is how a side that waits is woken, in
an event loop by `asyncio_bell`; `liveness` tells it that its peer has ended. Descriptors are inherited, or travel by a
`rendezvous` in a private `directory`, to which others make a `connection`.
"""
