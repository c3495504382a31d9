import Bluetooth
import Emulator

// The link: the product's server and client machines, with every PDU through a faulty channel.
extension World {
    var peer: CentralID { CentralID("\(connection)") }

    mutating func apply(_ effects: [GATTServer.Effect]) {
        for effect in effects {
            switch effect {
            case .send(let id, let bytes):
                guard isConnected, id == peer else { continue }
                let effects = channel.transmit(bytes, .toCentral, connection: connection, at: now)
                if effects.contains(where: { if case .log(let line) = $0 { line.contains("lose") } else { false } }) {
                    noteLoss(bytes)
                }
                apply(effects)
            case .event(let event): post(.bottle(.link(event)))
            case .close(let id):
                if id == peer { disconnect(LinkError(.disconnected, "The bottle disconnected.", isTransient: true)) }
            case .advertise(let isOn): isAdvertised = isOn
            case .log: break
            }
        }
    }

    mutating func apply(_ effects: [FaultyChannel.Effect]) {
        for effect in effects {
            switch effect {
            case .deliver(let number, .toCentral, let bytes):
                schedule(.toCentral(number, bytes), at: now.advanced(by: scenario.latency))
            case .deliver(let number, .toPeripheral, let bytes):
                schedule(.toPeripheral(number, bytes), at: now.advanced(by: scenario.latency))
            case .disconnect: disconnect(LinkError(.disconnected, "The connection was lost.", isTransient: true))
            case .log: break
            }
        }
    }

    mutating func apply(_ effects: [PeripheralMachineEffect]) {
        for effect in effects {
            switch effect {
            case .link(let request): post(.server(.request(request)))
            case .save(let flash): checkSaved(flash)
            case .reply, .log, .unrecorded: break
            }
        }
    }
}
