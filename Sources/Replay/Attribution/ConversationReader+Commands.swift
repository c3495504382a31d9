import Bluetooth
import BottleProtocol

// What the host wrote to a bottle; and, where no discovery tells, what the bytes themselves tell.

extension ConversationReader {
    func look(written bytes: [UInt8], to handle: UInt16, _ side: ServerSide, _ observation: ATTObservation) throws {
        switch side.role(of: handle, given) {
        // Also what was written to the response characteristic: the bottle drops the connection for some of it.
        case .command(let profile, let basis), .response(let profile, let basis):
            side.peer.note(profile, basis)
            try command(bytes, to: handle, side, observation)
        case .unknown
        where given.isEmpty && side.guess.response != nil && side.guess.command == nil && FrameShape.isCommand(bytes):
            // Frames came first, now a command: so it is a bottle.
            side.guess.command = handle
            side.guess.isOneSided = false
            side.forgetRoles()
            try command(bytes, to: handle, side, observation)
        case .unknown where given.isEmpty && side.mayGuess:
            if FrameShape.isCommand(bytes) {
                if foresee(side) { return try look(written: bytes, to: handle, side, observation) }
                side.guess.command = handle
                side.forgetRoles()
                try command(bytes, to: handle, side, observation)
            } else if bytes.count == 1, side.guess.shortWrites.count < GuessWork.mostShortWrites {
                side.guess.shortWrites.append(PartialValue(handle: handle, bytes: bytes, observation: observation))
            }
        case .unknown, .other: break
        }
    }

    func command(_ bytes: [UInt8], to handle: UInt16, _ side: ServerSide, _ observation: ATTObservation) throws {
        let command = HostCommand(decoding: bytes)
        switch command {
        case .drinkLog, .draftDump: try finishLog(side, observation)
        default: break
        }
        // Other gadgets have characteristics of the same number, and words of their own for them.
        if case .unknown = command, !side.peer.isBottle { return }
        side.peer.commandCount += 1
        try sink(
            .command(command, value: bytes, characteristic: side.type(at: handle)), TrafficOrigin(side, observation))
    }

    func finishLog(_ side: ServerSide, _ observation: ATTObservation) throws {
        try side.log.pointee.finish { try self.emit($0, side, observation) }
        if side.isListedAsOpen { list(side) }
    }

    func list(_ side: ServerSide) {
        if side.log.pointee.isOpen, openLogs.count < Self.mostOpenLogs {
            side.isListedAsOpen = true
            openLogs.append(side)
        } else if side.isListedAsOpen {
            side.isListedAsOpen = false
            openLogs.removeAll { $0 === side }
        }
    }

    /// Before anything is guessed of a side, the rest of the capture is asked. True: it told something, look again.
    func foresee(_ side: ServerSide) -> Bool {
        guard !side.hasForesight else { return false }
        guard let foresight = lookedAhead() else {
            side.hasForesight = true
            return false
        }
        side.learn(foresight)
        return true
    }

    /// Drinks of a bottle whose model nobody has told yet: perhaps the rest of the capture does. What a record's last
    /// bytes mean depends on it.
    func foreseeModel(_ peer: BottlePeer) {
        guard peer.model == nil, !peer.hasForesight else { return }
        peer.hasForesight = true
        if let name = lookedAhead()?.name(peer) { peer.learn(name: name) }
    }

    private func lookedAhead() -> Foresight? {
        if let lookAhead {
            self.lookAhead = nil
            foresight = lookAhead()
        }
        return foresight
    }

    /// A value at a handle of which nothing is known: perhaps its bytes tell.
    func guess(_ bytes: RawSpan, at handle: UInt16, _ side: ServerSide, _ observation: ATTObservation) throws {
        guard bytes.byteCount >= Frame.headerSize, bytes.byte(0) == 0x50 || bytes.byte(0) == 0x52, given.isEmpty,
            side.mayGuess
        else { return }
        if foresee(side) { return try look(bytes, of: handle, side, observation) }
        let value = bytes.bytes()
        let isLog = FrameShape.isLog(value)
        let short = side.guess.shortWrites.filter { HostCommand(decoding: $0.bytes).isDraftDump && $0.handle != handle }
        let wasAsked = side.guess.command != nil || (isLog && !short.isEmpty)
        guard isLog || (wasAsked && FrameShape.isMessage(value)) else { return }
        side.guess.response = handle
        side.guess.isOneSided = !wasAsked
        if side.guess.command == nil { side.guess.command = short.first?.handle }
        side.forgetRoles()
        side.peer.note(nil, .guessed)
        for write in short where write.handle == side.guess.command {
            try command(write.bytes, to: write.handle, side, write.observation)
        }
        try look(bytes, of: handle, side, observation)
    }
}
