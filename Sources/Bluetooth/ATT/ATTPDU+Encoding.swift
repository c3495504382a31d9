extension ATTPDU {
    /// The bytes of the PDU, opcode first.
    ///
    /// The items of a list with a common length must have equal lengths. A UUID is encoded in its 16-bit form if
    /// possible.
    package var encoded: [UInt8] {
        var bytes = [opcode.rawValue]
        switch self {
        // 01 | request opcode(1) handle(2) error(1)
        case .errorResponse(let request, let handle, let error):
            bytes.append(request.rawValue)
            bytes.append(littleEndian: handle)
            bytes.append(error.rawValue)
        // 02, 03 | MTU(2)
        case .exchangeMTURequest(let mtu), .exchangeMTUResponse(let mtu):
            bytes.append(littleEndian: mtu)
        // 04 | first(2) last(2)
        case .findInformationRequest(let range):
            bytes.append(range)
        // 05 | format(1) [handle(2) type(2 or 16)]+
        case .findInformationResponse(let list):
            let short = list.allSatisfy { $0.type.short != nil }
            bytes.append(short ? 1 : 2)
            for item in list {
                bytes.append(littleEndian: item.handle)
                bytes += short ? item.type.littleEndian : item.type.full128LittleEndian
            }
        // 06 | first(2) last(2) type(2) value(0-)
        case .findByTypeValueRequest(let range, let type, let value):
            bytes.append(range)
            bytes.append(littleEndian: type)
            bytes += value
        // 07 | [found(2) group end(2)]+
        case .findByTypeValueResponse(let list):
            for range in list { bytes.append(range) }
        // 08, 10 | first(2) last(2) type(2 or 16)
        case .readByTypeRequest(let range, let type), .readByGroupTypeRequest(let range, let type):
            bytes.append(range)
            bytes += type.littleEndian
        // 09 | length(1) [handle(2) value(length - 2)]+
        case .readByTypeResponse(let list):
            bytes.append(Self.itemSize(2, list.map(\.value)))
            for item in list {
                bytes.append(littleEndian: item.handle)
                bytes += item.value
            }
        // 0A | handle(2)
        case .readRequest(let handle):
            bytes.append(littleEndian: handle)
        // 0B, 0D, 0F | value(0-)
        case .readResponse(let value), .readBlobResponse(let value), .readMultipleResponse(let value):
            bytes += value
        // 0C | handle(2) offset(2)
        case .readBlobRequest(let handle, let offset):
            bytes.append(littleEndian: handle)
            bytes.append(littleEndian: offset)
        // 0E, 20 | [handle(2)]2+
        case .readMultipleRequest(let handles), .readMultipleVariableRequest(let handles):
            for handle in handles { bytes.append(littleEndian: handle) }
        // 11 | length(1) [handle(2) end(2) value(length - 4)]+
        case .readByGroupTypeResponse(let list):
            bytes.append(Self.itemSize(4, list.map(\.value)))
            for item in list {
                bytes.append(littleEndian: item.handle)
                bytes.append(littleEndian: item.end)
                bytes += item.value
            }
        // 12, 52, 1B, 1D | handle(2) value(0-)
        case .writeRequest(let handle, let value), .writeCommand(let handle, let value),
            .notification(let handle, let value), .indication(let handle, let value):
            bytes.append(littleEndian: handle)
            bytes += value
        // D2 | handle(2) value(0-) signature(12)
        case .signedWriteCommand(let handle, let value, let signature):
            bytes.append(littleEndian: handle)
            bytes += value + signature
        // 16, 17 | handle(2) offset(2) value(0-)
        case .prepareWriteRequest(let handle, let offset, let value),
            .prepareWriteResponse(let handle, let offset, let value):
            bytes.append(littleEndian: handle)
            bytes.append(littleEndian: offset)
            bytes += value
        // 18 | flags(1)
        case .executeWriteRequest(let flags):
            bytes.append(flags)
        // 21 | [length(2) value(length; the last can be truncated)]+
        case .readMultipleVariableResponse(let list):
            for item in list {
                bytes.append(littleEndian: item.length)
                bytes += item.value
            }
        // 23 | [handle(2) length(2) value(length)]+
        case .multipleNotification(let list):
            for item in list {
                bytes.append(littleEndian: item.handle)
                bytes.append(littleEndian: UInt16(clamping: item.value.count))
                bytes += item.value
            }
        // 13, 19, 1E | no parameters
        case .writeResponse, .executeWriteResponse, .confirmation:
            break
        // xx | the received bytes
        case .unknown(_, let parameters):
            bytes += parameters
        }
        return bytes
    }

    private static func itemSize(_ header: Int, _ values: [[UInt8]]) -> UInt8 {
        let length = values.first?.count ?? 0
        precondition(values.allSatisfy { $0.count == length }, "a response of this kind carries values of one length")
        guard let size = UInt8(exactly: header + length) else {
            preconditionFailure("a value of \(length) bytes does not fit the one-byte length of this response")
        }
        return size
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ range: ATTHandleRange) {
        append(littleEndian: range.first)
        append(littleEndian: range.last)
    }
}
