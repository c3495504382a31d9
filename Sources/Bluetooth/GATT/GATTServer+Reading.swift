// Serves reads: from the table if it has the bytes, else from the application, one request at a time.
extension GATTServer {
    private enum Source {
        case bytes([UInt8])
        case application(LocalCharacteristic)
        case refused(ATTErrorCode)
    }

    private func source(_ handle: UInt16, on bearer: Int) -> Source {
        guard let attribute = table[handle] else { return .refused(.invalidHandle) }
        switch attribute.content {
        case .service(let uuid, _): return .bytes(uuid.littleEndian)
        case .fixed(let bytes): return .bytes(bytes)
        case .configuration(let value, _):
            var bytes: [UInt8] = []
            bytes.append(littleEndian: bearers[bearer].configurations[value] ?? 0)
            return .bytes(bytes)
        case .value(let characteristic):
            guard characteristic.properties.contains(.read) || characteristic.acceptsAnyRead else {
                return .refused(.readNotPermitted)
            }
            return characteristic.constant.map { .bytes($0) } ?? .application(characteristic)
        }
    }

    mutating func read(_ handle: UInt16, on bearer: Int, at now: MonotonicInstant) {
        switch source(handle, on: bearer) {
        case .refused(let error): refuse(.readRequest, handle, error, on: bearer)
        case .bytes(let value): send(.readResponse(value: head(value, on: bearer)), on: bearer)
        case .application(let characteristic):
            bearers[bearer].longRead = nil
            ask(characteristic, offset: 0, .readRequest, handle, .read(handle), on: bearer, at: now)
        }
    }

    mutating func readBlob(_ handle: UInt16, _ offset: Int, on bearer: Int, at now: MonotonicInstant) {
        switch source(handle, on: bearer) {
        case .refused(let error): refuse(.readBlobRequest, handle, error, on: bearer)
        case .bytes(let value): sendBlob(value, handle, offset, on: bearer)
        case .application(let characteristic):
            if offset > 0, let known = bearers[bearer].longRead, known.handle == handle {
                return sendBlob(known.value, handle, offset, on: bearer)
            }
            let step = Transaction.Step.blob(handle, offset: offset, partial: offset > 0)
            ask(characteristic, offset: offset, .readBlobRequest, handle, step, on: bearer, at: now)
        }
    }

    /// Sends a part of a long value. An offset at the end gives an empty part; a larger offset is an error.
    private mutating func sendBlob(_ value: [UInt8], _ handle: UInt16, _ offset: Int, on bearer: Int) {
        guard offset <= value.count else { return refuse(.readBlobRequest, handle, .invalidOffset, on: bearer) }
        send(.readBlobResponse(value: head(Array(value[offset...]), on: bearer)), on: bearer)
    }

    mutating func readByType(_ range: ATTHandleRange, _ type: BluetoothUUID, on bearer: Int, at now: MonotonicInstant) {
        let request = ATTOpcode.readByTypeRequest
        guard range.first > 0, range.first <= range.last else {
            return refuse(request, range.first, .invalidHandle, on: bearer)
        }
        let mtu = bearers[bearer].mtu
        // The length byte includes the handle: values are truncated to the PDU and to 253 bytes.
        let longest = min(mtu - 4, 253)
        var found: [ATTHandleValue] = []
        list: for attribute in table.attributes(in: range) where attribute.type == type {
            switch source(attribute.handle, on: bearer) {
            // Only the first attribute can cause an error (Vol 3 Part F, 3.4.4.1).
            case .refused(let error):
                guard !found.isEmpty else { return refuse(request, attribute.handle, error, on: bearer) }
                break list
            case .application(let characteristic):
                guard !found.isEmpty else {
                    return ask(
                        characteristic, offset: 0, request, attribute.handle, .byType(attribute.handle), on: bearer,
                        at: now)
                }
                break list
            case .bytes(let bytes):
                let value = Array(bytes.prefix(longest))
                guard found.first.map({ $0.value.count == value.count }) ?? true,
                    2 + (found.count + 1) * (2 + value.count) <= mtu
                else { break list }
                found.append(ATTHandleValue(attribute.handle, value))
            }
        }
        guard !found.isEmpty else { return refuse(request, range.first, .attributeNotFound, on: bearer) }
        send(.readByTypeResponse(found), on: bearer)
    }

    mutating func readMultiple(_ handles: [UInt16], variable: Bool, on bearer: Int, at now: MonotonicInstant) {
        collect([], handles[...], variable: variable, on: bearer, at: now)
    }

    /// Collects values by handle until the application must supply one. Its response continues the collection.
    private mutating func collect(
        _ values: [[UInt8]], _ handles: ArraySlice<UInt16>, variable: Bool, on bearer: Int, at now: MonotonicInstant
    ) {
        let request: ATTOpcode = variable ? .readMultipleVariableRequest : .readMultipleRequest
        var values = values
        var rest = handles
        while let handle = rest.first {
            switch source(handle, on: bearer) {
            case .refused(let error): return refuse(request, handle, error, on: bearer)
            case .bytes(let value): values.append(value)
            case .application(let characteristic):
                let step = Transaction.Step.multiple(values: values, rest: rest, variable: variable)
                return ask(characteristic, offset: 0, request, handle, step, on: bearer, at: now)
            }
            rest = rest.dropFirst()
        }
        let room = bearers[bearer].mtu - 1
        guard variable else {
            return send(.readMultipleResponse(values: Array(values.joined().prefix(room))), on: bearer)
        }
        var list: [ATTLengthValue] = []
        var used = 0
        for value in values where used + 2 < room || list.isEmpty {
            let part = Array(value.prefix(room - used - 2))
            list.append(ATTLengthValue(length: UInt16(clamping: value.count), part))
            used += 2 + part.count
        }
        send(.readMultipleVariableResponse(list), on: bearer)
    }

    private func head(_ value: [UInt8], on bearer: Int) -> [UInt8] {
        Array(value.prefix(bearers[bearer].mtu - 1))
    }

    // MARK: Responses of the application

    private mutating func ask(
        _ characteristic: LocalCharacteristic, offset: Int, _ request: ATTOpcode, _ handle: UInt16,
        _ step: Transaction.Step,
        on bearer: Int, at now: MonotonicInstant
    ) {
        let token = begin(request, handle, step, on: bearer, at: now)
        emit(.event(.read(bearers[bearer].id, characteristic.name, offset: offset, token: token)))
    }

    /// Starts the transaction that `answer` ends.
    mutating func begin(
        _ request: ATTOpcode, _ handle: UInt16, _ step: Transaction.Step, on bearer: Int, at now: MonotonicInstant
    ) -> UInt64 {
        lastToken += 1
        bearers[bearer].transaction = Transaction(
            request: request, handle: handle, step: step, token: lastToken, deadline: now.advanced(by: Limit.answer))
        return lastToken
    }

    /// Answers the request with this token. Ignored if the central has disconnected or the time limit has passed.
    mutating func answer(_ token: UInt64, _ response: PeripheralRequest.Response, at now: MonotonicInstant) {
        guard let bearer = bearers.firstIndex(where: { $0.transaction?.token == token }) else { return }
        finish(bearer, response, at: now)
    }

    mutating func finish(_ bearer: Int, _ response: PeripheralRequest.Response, at now: MonotonicInstant) {
        guard let transaction = bearers[bearer].transaction else { return }
        bearers[bearer].transaction = nil
        switch response {
        case .error(let code):
            refuse(transaction.request, transaction.handle, ATTErrorCode(code), on: bearer)
        case .value(let whole):
            let value = Array(whole.prefix(ATTPDU.maximumValueLength))
            if value.count < whole.count {
                log("the value for its \(transaction.request) has \(whole.count) bytes; truncated to 512", on: bearer)
            }
            proceed(transaction, value, on: bearer, at: now)
        }
        serveWaiting(on: bearer, at: now)
    }

    private mutating func proceed(
        _ transaction: Transaction, _ value: [UInt8], on bearer: Int, at now: MonotonicInstant
    ) {
        switch transaction.step {
        case .read(let handle):
            bearers[bearer].longRead = ATTHandleValue(handle, value)
            send(.readResponse(value: head(value, on: bearer)), on: bearer)
        case .blob(let handle, _, partial: false):
            bearers[bearer].longRead = ATTHandleValue(handle, value)
            send(.readBlobResponse(value: head(value, on: bearer)), on: bearer)
        case .blob(_, _, partial: true):
            send(.readBlobResponse(value: head(value, on: bearer)), on: bearer)
        case .byType(let handle):
            let part = Array(value.prefix(min(bearers[bearer].mtu - 4, 253)))
            send(.readByTypeResponse([ATTHandleValue(handle, part)]), on: bearer)
        case .multiple(let values, let rest, let variable):
            collect(values + [value], rest.dropFirst(), variable: variable, on: bearer, at: now)
        case .write:
            send(.writeResponse, on: bearer)
        case .execute(let rest):
            execute(rest.dropFirst(), on: bearer, at: now)
        }
    }

    private mutating func serveWaiting(on bearer: Int, at now: MonotonicInstant) {
        while bearers[bearer].transaction == nil, !bearers[bearer].waiting.isEmpty {
            serve(bearers[bearer].waiting.removeFirst(), on: bearer, at: now)
        }
    }
}
